// What the exchange does not have yet: it says so, and nothing else, after everything was signed.
//
// A step here fails on the day its endpoint becomes available; then it needs a step of its own.

import { refused, step } from './steps.mjs'

const POOL = '0x00000000000000000000000000000000000000bb'
const SOMEBODY = '0x00000000000000000000000000000000000000cc'

export async function absentSteps(session) {
  const { user, amm, sdk, wallet, sk, apiKey, accountId, exchangeAddress } = session
  const validUntil = Math.floor(Date.now() / 1000) + 86_400
  const signing = {
    web3: wallet.web3,
    chainId: sdk.ChainId.MAINNET,
    walletType: sdk.ConnectorNames.MetaMask,
    eddsaKey: sk,
    apiKey,
    isHWAddr: false,
  }
  const volume = (tokenId, amount) => ({ tokenId, volume: amount })
  const absent = (what, call) =>
    step(`${what}: not available yet, and it says so`, async () => {
      const result = await call()
      refused(result, 100000, /not available yet on this exchange/)
    })

  await absent('transfer', () =>
    user.submitInternalTransfer({
      ...signing,
      request: {
        exchange: exchangeAddress,
        payerId: accountId,
        payerAddr: wallet.address,
        payeeId: 0,
        payeeAddr: SOMEBODY,
        token: volume(1, '1000000'),
        maxFee: volume(1, '0'),
        storageId: 1,
        validUntil,
        memo: 'a memo',
      },
    }),
  )
  await absent('withdrawal', () =>
    user.submitOffchainWithdraw({
      ...signing,
      request: {
        exchange: exchangeAddress,
        accountId,
        owner: wallet.address,
        token: volume(1, '1000000'),
        maxFee: volume(1, '0'),
        storageId: 3,
        validUntil,
        minGas: 0,
        to: wallet.address,
        extraData: '',
        fastWithdrawalMode: false,
      },
    }),
  )
  await absent('update of the signing key', () =>
    user.updateAccount({
      ...signing,
      request: {
        exchange: exchangeAddress,
        owner: wallet.address,
        accountId,
        publicKey: session.publicKey,
        maxFee: volume(1, '0'),
        validUntil,
        nonce: 1,
        keySeed: '',
      },
    }),
  )
  const patch = { chainId: signing.chainId, ammName: 'AMM-ETH-USDC', poolAddress: POOL, eddsaKey: sk }
  await absent('joining a pool', () =>
    amm.joinAmmPool(
      {
        owner: wallet.address,
        poolAddress: POOL,
        joinTokens: {
          pooled: [volume(0, '1000000000000000000'), volume(1, '2500000000')],
          minimumLp: volume(2, '1'),
        },
        storageIds: [1, 5],
        fee: '0',
        validUntil,
      },
      patch,
      apiKey,
    ),
  )
  await absent('leaving a pool', () =>
    amm.exitAmmPool(
      {
        owner: wallet.address,
        poolAddress: POOL,
        exitTokens: {
          unPooled: [volume(0, '1000000000000000000'), volume(1, '2500000000')],
          burned: volume(2, '1'),
        },
        storageId: 1,
        maxFee: '0',
        validUntil,
      },
      patch,
      apiKey,
    ),
  )
}
