// A public client library drives the exchange, unmodified: it unlocks the account with a wallet,
// reads everything, trades, cancels, joins and leaves a pool, moves funds, replaces its keys.
//
// Usage: node drive.mjs BINARY EXAMPLE-CONFIGURATION [SEED]

import { createRequire } from 'node:module'

import { fundsSteps } from './funds.mjs'
import { keySteps, unlockSteps } from './keys.mjs'
import { orderSteps } from './orders.mjs'
import { readingSteps } from './reading.mjs'
import { close, step } from './steps.mjs'
import { startVenue } from './venue.mjs'
import { openWallet } from './wallet.mjs'

// The library talks on the console; only the steps shall.
console.log = () => {}

// Its module build names exports that its own dependencies do not have under Node.
const sdk = createRequire(import.meta.url)('@loopring-web/loopring-sdk')

const EXCHANGE = '0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e001'

const [binary, template, seed = '1'] = process.argv.slice(2)
if (template === undefined) {
  console.error('usage: node drive.mjs BINARY EXAMPLE-CONFIGURATION [SEED]')
  process.exit(2)
}

const wallet = openWallet(seed)
const keyPair = {
  web3: wallet.web3,
  address: wallet.address,
  walletType: sdk.ConnectorNames.MetaMask,
  keySeed: sdk.BaseAPI.KEY_MESSAGE.replace('${exchangeAddress}', EXCHANGE).replace('${nonce}', '0'),
  chainId: sdk.ChainId.MAINNET,
}
const { sk } = await sdk.generateKeyPair(keyPair)
const venue = await startVenue({ binary, template, eddsaKey: sk, owner: wallet.address })

const param = { baseUrl: venue.url, chainId: sdk.ChainId.MAINNET }
const session = {
  sdk,
  venue,
  wallet,
  keyPair,
  sk,
  exchangeAddress: EXCHANGE,
  accountId: venue.accountId,
  apiKey: undefined,
  exchange: new sdk.ExchangeAPI(param),
  user: new sdk.UserAPI(param),
  amm: new sdk.AmmpoolAPI(param),
  global: new sdk.GlobalAPI(param),
}
await step('all parts were run to their end', async () => {
  for (const part of [unlockSteps, readingSteps, orderSteps, fundsSteps, keySteps]) {
    await part(session)
  }
})
const end = await venue.stop()
await step('the exchange ends cleanly and its books add up', () => {
  if (end.code !== 0) throw new Error(`it ended with ${end.signal ?? `code ${end.code}`}`)
})
process.exit(close())
