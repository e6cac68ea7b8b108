// The account's keys: unlocking with a wallet, the API key and its replacement, the rate limit.

import { accepted, holds, refused, same, step, thrown } from './steps.mjs'

const WRONG_SK = '0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcd'

export async function unlockSteps(session) {
  const { exchange, user, venue, wallet, keyPair, sk } = session
  const request = { accountId: session.accountId }

  await step('account by owner, without a key: what unlocking needs', async () => {
    const { accInfo } = accepted(await exchange.getAccount({ owner: wallet.address }))
    same('accountId', accInfo.accountId, session.accountId)
    same('owner', accInfo.owner.toLowerCase(), wallet.address.toLowerCase())
    same('keySeed', accInfo.keySeed, '')
    same('keyNonce', accInfo.keyNonce, accInfo.nonce - 1)
    same('frozen', accInfo.frozen, false)
    for (const part of [accInfo.publicKey.x, accInfo.publicKey.y]) {
      holds('64 hexadecimal digits', /^0x[0-9a-f]{64}$/.test(part), part)
    }
    session.publicKey = accInfo.publicKey
  })
  await step('unLockAccount derives the key from the wallet and gets the API key', async () => {
    const { accInfo } = accepted(await exchange.getAccount({ owner: wallet.address }))
    const keySeed = keyPair.keySeed.replace(/\d+$/, String(accInfo.keyNonce))
    const unlocked = await user.unLockAccount(
      { keyPair: { ...keyPair, keySeed }, request },
      accInfo.publicKey,
    )
    same('derived key is the one the account has', unlocked.eddsaKey.sk, sk)
    same('public key x', BigInt(unlocked.eddsaKey.formatedPx), BigInt(accInfo.publicKey.x))
    same('public key y', BigInt(unlocked.eddsaKey.formatedPy), BigInt(accInfo.publicKey.y))
    same('API key is the one in the key file', unlocked.apiKey === venue.apiKey, true)
  })
  await step('getUserApiKey gets the same key', async () => {
    const { apiKey } = await user.getUserApiKey(request, sk)
    same('the same', apiKey === venue.apiKey, true)
  })
  await step('getUserApiKey with another signing key: 104005', async () => {
    refused(await thrown(() => user.getUserApiKey(request, WRONG_SK)), 104005)
  })
  await step('getUserApiKey of nobody: 101002', async () => {
    refused(await thrown(() => user.getUserApiKey({ accountId: 77 }, sk)), 101002)
  })
  session.apiKey = venue.apiKey
}

export async function keySteps(session) {
  const { user, sk } = session
  const request = { accountId: session.accountId }
  const old = session.apiKey

  await step('updateUserApiKey signed by another key: 104005, nothing changes', async () => {
    refused(await user.updateUserApiKey(request, old, WRONG_SK), 104005)
    accepted(await user.getUserBalances(request, old))
  })
  await step('updateUserApiKey for another account: 104003', async () => {
    const someone = { accountId: 1_000_000 }
    refused(await user.updateUserApiKey(someone, old, sk), 104003)
  })
  await step('updateUserApiKey replaces the key', async () => {
    const { raw_data } = accepted(await user.updateUserApiKey(request, old, sk))
    holds('64 letters and digits', /^[A-Za-z0-9]{64}$/.test(raw_data.apiKey))
    holds('another one', raw_data.apiKey !== old)
    session.apiKey = raw_data.apiKey
    holds('reads', accepted(await user.getUserBalances(request, session.apiKey)).userBalances[0])
  })
  await step('the replaced key opens nothing: 104002', async () => {
    refused(await user.getUserBalances(request, old), 104002)
  })
  await step('getUserApiKey gets the new key', async () => {
    const { apiKey } = await user.getUserApiKey(request, sk)
    same('the same', apiKey === session.apiKey, true)
  })
  await step('too many requests: HTTP 429 with Retry-After, thrown by the library', async () => {
    const all = Array.from({ length: 120 }, () =>
      user.getUserBalances(request, session.apiKey).then(
        () => 200,
        (error) => error,
      ),
    )
    const errors = (await Promise.all(all)).filter((result) => result !== 200)
    holds('some are refused', errors.length > 0)
    holds('some are answered', errors.length < all.length)
    for (const { response } of errors) {
      same('status', response?.status, 429)
      holds('seconds to wait', /^[1-9]\d*$/.test(response.headers['retry-after']))
      same('code', response.data.resultInfo.code, 429)
    }
  })
}
