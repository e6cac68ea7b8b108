// Everything that moves: pools, swaps, transfers, withdrawals and a new signing key.

import { accepted, holds, refused, same, step } from './steps.mjs'

const ETH = 0
const USDC = 1
const LP = 9
const POOL = '0x00000000000000000000000000000000000000bb'
const NAME = 'AMM-ETH-USDC'
const SOMEBODY = '0x00000000000000000000000000000000000000cc'
const BASE = 10n ** 18n
const QUOTE = 10n ** 6n
const ZERO = '0x0000000000000000000000000000000000000000'

export async function fundsSteps(session) {
  await poolSteps(session)
  await swapSteps(session)
  await movingSteps(session)
  await newKeySteps(session)
}

const volume = (tokenId, amount) => ({ tokenId, volume: String(amount) })
const validUntil = () => Math.floor(Date.now() / 1000) + 86_400

/** The next odd storage id of a token. */
async function offchainId({ user, accountId, apiKey }, sellTokenId) {
  return accepted(await user.getNextStorageId({ accountId, sellTokenId }, apiKey)).offchainId
}

async function held({ user, accountId, apiKey }, tokenId) {
  const { userBalances } = accepted(await user.getUserBalances({ accountId }, apiKey))
  return BigInt(userBalances[tokenId]?.total ?? 0)
}

async function poolSteps(session) {
  const { amm, sdk, wallet, sk, apiKey, accountId, venue } = session
  const patch = { chainId: sdk.ChainId.MAINNET, ammName: NAME, poolAddress: POOL, eddsaKey: sk }

  await step('the operator lists a pool, and it is shown', async () => {
    venue.admin('list-pool', '--name', NAME, '--pool', POOL, '--base', 'ETH', '--quote', 'USDC', '--lp', String(LP))
    const { ammpools } = accepted(await amm.getAmmPoolConf())
    holds('by its name', ammpools[NAME] !== undefined, ammpools)
    same('version', ammpools[NAME].version, '1.0.0')
    same('pooled', ammpools[NAME].tokens.pooled.map(Number), [ETH, USDC])
    same('LP token', Number(ammpools[NAME].tokens.lp), LP)
  })
  const join = async (base, quote, minimumLp) =>
    amm.joinAmmPool(
      {
        owner: wallet.address,
        poolAddress: POOL,
        joinTokens: {
          pooled: [volume(ETH, base), volume(USDC, quote)],
          minimumLp: volume(LP, minimumLp),
        },
        storageIds: [await offchainId(session, ETH), await offchainId(session, USDC)],
        fee: '0',
        validUntil: validUntil(),
      },
      patch,
      apiKey,
    )
  await step('the first join mints a hundred shares', async () => {
    const { raw_data } = accepted(await join(4n * BASE, 10_000n * QUOTE, 1))
    holds('a hash', /^0x[0-9a-f]{64}$/.test(raw_data.hash), raw_data)
    same('status', raw_data.status, 'processed')
    same('shares', await held(session, LP), 10n ** 10n)
  })
  await step('a later join gets shares in proportion', async () => {
    accepted(await join(BASE, 2_500n * QUOTE, 2_400_000_000))
    same('shares', await held(session, LP), 12_500_000_000n)
  })
  await step('a join under another signature: 104005', async () => {
    const wrong = { ...patch, ammName: 'AMM-OTHER' }
    const request = {
      owner: wallet.address,
      poolAddress: POOL,
      joinTokens: { pooled: [volume(ETH, BASE), volume(USDC, QUOTE)], minimumLp: volume(LP, 1) },
      storageIds: [await offchainId(session, ETH), await offchainId(session, USDC)],
      fee: '0',
      validUntil: validUntil(),
    }
    refused(await amm.joinAmmPool(request, wrong, apiKey), 104005)
  })
  await step('the pool holds what was joined', async () => {
    const snapshot = accepted(await amm.getAmmPoolSnapshot({ poolAddress: POOL }))
    const raw = snapshot.raw_data
    same('pooled', raw.pooled.map((part) => part.volume), [String(5n * BASE), String(12_500n * QUOTE)])
    same('shares', raw.lp.volume, '12500000000')
  })
  await step('an exit gives its share back', async () => {
    const before = await held(session, USDC)
    accepted(
      await amm.exitAmmPool(
        {
          owner: wallet.address,
          poolAddress: POOL,
          exitTokens: {
            unPooled: [volume(ETH, BASE - 1n), volume(USDC, 2_500n * QUOTE - 1n)],
            burned: volume(LP, 2_500_000_000),
          },
          storageId: await offchainId(session, LP),
          maxFee: '0',
          validUntil: validUntil(),
        },
        patch,
        apiKey,
      ),
    )
    same('shares', await held(session, LP), 10n ** 10n)
    same('quote', (await held(session, USDC)) - before, 2_500n * QUOTE)
  })
  await step('the list of joins and exits, filtered as the library does', async () => {
    const total = async (filter) =>
      accepted(await amm.getUserAmmPoolTxs({ accountId, ...filter }, apiKey)).totalNum
    same('all', await total({}), 3)
    same('joins and exits', [await total({ txTypes: '0' }), await total({ txTypes: '1' })], [2, 1])
    const page = accepted(await amm.getUserAmmPoolTxs({ accountId, limit: 1, offset: 2 }, apiKey))
    same('the oldest', page.userAmmPoolTxs.length, 1)
    same('its shares', page.userAmmPoolTxs[0].lpToken.actualAmount, String(10n ** 10n))
  })
}

async function swapSteps(session) {
  const { user, accountId, apiKey, sk, exchangeAddress } = session
  await step('a swap with the pool is done at once', async () => {
    const ids = accepted(await user.getNextStorageId({ accountId, sellTokenId: ETH }, apiKey))
    const before = await held(session, ETH)
    const result = accepted(
      await user.submitOrder(
        {
          exchange: exchangeAddress,
          accountId,
          storageId: ids.orderId,
          sellToken: volume(ETH, BASE / 100n),
          buyToken: volume(USDC, 24n * QUOTE),
          allOrNone: false,
          fillAmountBOrS: false,
          validUntil: validUntil(),
          maxFeeBips: 63,
          orderType: 'AMM',
          tradeChannel: 'AMM_POOL',
          taker: ZERO,
          poolAddress: POOL,
          eddsaSignature: '',
        },
        sk,
        apiKey,
      ),
    )
    same('status', result.status, 'processed')
    same('sold', before - (await held(session, ETH)), BASE / 100n)
  })
}

async function movingSteps(session) {
  const { user, sdk, wallet, sk, apiKey, accountId, exchangeAddress, venue } = session
  const signing = {
    web3: wallet.web3,
    chainId: sdk.ChainId.MAINNET,
    walletType: sdk.ConnectorNames.MetaMask,
    eddsaKey: sk,
    apiKey,
    isHWAddr: false,
  }
  const transfer = async () => ({
    exchange: exchangeAddress,
    payerId: accountId,
    payerAddr: wallet.address,
    payeeId: 0,
    payeeAddr: SOMEBODY,
    token: volume(USDC, QUOTE),
    maxFee: volume(USDC, 0),
    storageId: await offchainId(session, USDC),
    validUntil: validUntil(),
    memo: 'a memo',
  })
  await step('a transfer, signed by both keys, arrives', async () => {
    const before = await held(session, USDC)
    accepted(await user.submitInternalTransfer({ ...signing, request: await transfer() }))
    same('sent', before - (await held(session, USDC)), QUOTE)
    const { accInfo } = accepted(await session.exchange.getAccount({ owner: SOMEBODY }))
    same('nonce of the new account', accInfo.nonce, 0)
  })
  await step('a transfer that another key signed: 104005', async () => {
    const wrong = { ...signing, eddsaKey: '0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcd' }
    refused(await user.submitInternalTransfer({ ...wrong, request: await transfer() }), 104005)
  })
  await step('a transfer that the layer-2 key alone signed: 104004, nothing moves', async () => {
    const before = await held(session, USDC)
    const request = await transfer()
    const { result } = sdk.get_EddsaSig_Transfer(request, sk)
    const response = await fetch(`${venue.url}/api/v3/transfer`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-API-KEY': apiKey },
      body: JSON.stringify({ ...request, eddsaSignature: result }),
    })
    refused((await response.json()).resultInfo, 104004, /wallet/)
    same('sent', before - (await held(session, USDC)), 0n)
  })
  await step('a withdrawal is pending until the operator settles it', async () => {
    const before = await held(session, USDC)
    const request = {
      exchange: exchangeAddress,
      accountId,
      owner: wallet.address,
      token: volume(USDC, 5n * QUOTE),
      maxFee: volume(USDC, 0),
      storageId: await offchainId(session, USDC),
      validUntil: validUntil(),
      minGas: 0,
      to: wallet.address,
      extraData: '',
      fastWithdrawalMode: false,
    }
    accepted(await user.submitOffchainWithdraw({ ...signing, request }))
    const { userBalances } = accepted(await user.getUserBalances({ accountId }, apiKey))
    same('pending', userBalances[USDC].pending.withdraw, String(5n * QUOTE))
    venue.admin('settle-withdrawals')
    same('left', before - (await held(session, USDC)), 5n * QUOTE)
  })
}

async function newKeySteps(session) {
  const { user, sdk, wallet, apiKey, accountId, exchangeAddress, keyPair } = session
  await step('a new signing key, set by the wallet, and the old one is dead', async () => {
    const keySeed = keyPair.keySeed.replace(/\d+$/, '1')
    const fresh = await sdk.generateKeyPair({ ...keyPair, keySeed })
    accepted(
      await user.updateAccount({
        web3: wallet.web3,
        chainId: sdk.ChainId.MAINNET,
        walletType: sdk.ConnectorNames.MetaMask,
        isHWAddr: false,
        request: {
          exchange: exchangeAddress,
          owner: wallet.address,
          accountId,
          publicKey: { x: fresh.formatedPx, y: fresh.formatedPy },
          maxFee: volume(USDC, 0),
          validUntil: validUntil(),
          nonce: 1,
          keySeed: '',
        },
      }),
    )
    const { accInfo } = accepted(await session.exchange.getAccount({ owner: wallet.address }))
    same('nonce', accInfo.nonce, 2)
    same('key', BigInt(accInfo.publicKey.x), BigInt(fresh.formatedPx))
    refused(await user.updateUserApiKey({ accountId }, apiKey, session.sk), 104005)
    session.sk = fresh.sk
  })
}
