// Everything that can be read before there is an order, most of it without a key.

import { accepted, holds, refused, same, step, thrown } from './steps.mjs'

const NOBODY = '0x00000000000000000000000000000000000000aa'

export async function readingSteps(session) {
  await configurationSteps(session)
  await depthSteps(session)
  await accountSteps(session)
  await poolSteps(session)
}

async function configurationSteps({ exchange, exchangeAddress, sdk }) {
  await step('timestamp: milliseconds', async () => {
    const { timestamp } = accepted(await exchange.getRelayerCurrentTime())
    holds('within a minute of now', Math.abs(timestamp - Date.now()) < 60_000, timestamp)
  })
  await step('exchange info, without a key', async () => {
    const { exchangeInfo, raw_data } = accepted(await exchange.getExchangeInfo())
    same('chainId', exchangeInfo.chainId, sdk.ChainId.MAINNET)
    same('exchangeAddress', exchangeInfo.exchangeAddress.toLowerCase(), exchangeAddress)
    for (const fees of ['onchainFees', 'updateFees', 'transferFees', 'withdrawalFees']) {
      holds(`${fees} names a fee`, raw_data[fees].length > 0, raw_data[fees])
    }
  })
  await step('tokens, without a key: maps by symbol, id and address', async () => {
    const { tokensMap, idIndex, addressIndex } = accepted(await exchange.getTokens())
    same('symbols', Object.keys(tokensMap).sort(), ['ETH', 'USDC'])
    same('ids', [idIndex[0], idIndex[1]], ['ETH', 'USDC'])
    same('by address', addressIndex[tokensMap.USDC.address.toLowerCase()], 'USDC')
    same('decimals', [tokensMap.ETH.decimals, tokensMap.USDC.decimals], [18, 6])
    same('types', [tokensMap.ETH.type, tokensMap.USDC.type], ['ETH', 'ERC20'])
    same('smallest order', tokensMap.ETH.orderAmounts.minimum, '1000000000000000')
    same('enabled', tokensMap.ETH.enabled, true)
  })
  await step('markets, without a key: base and quote are found', async () => {
    const { markets, pairs, marketArr } = accepted(await exchange.getMarkets())
    same('markets', marketArr, ['ETH-USDC'])
    const market = markets['ETH-USDC']
    same('tokens', [market.baseTokenId, market.quoteTokenId], [0, 1])
    same('precision', market.precisionForPrice, 2)
    same('enabled', market.enabled, true)
    same('tradable with ETH', pairs.ETH.tokenList, ['USDC'])
  })
  await step('a path that the exchange does not have: HTTP 404, thrown by the library', async () => {
    const error = await thrown(() => exchange.getTicker({ market: 'ETH-USDC' }))
    same('status', error.response?.status, 404)
    holds('a code', Number.isInteger(error.response.data.resultInfo.code))
  })
}

async function depthSteps({ exchange }) {
  const market = 'ETH-USDC'
  await step('depth, the library\'s defaults: both sides, best first, strings', async () => {
    const { depth, raw_data } = accepted(await exchange.getDepth({ market }))
    same('market', depth.symbol, market)
    holds('version', Number.isInteger(depth.version) && depth.version > 0, depth.version)
    holds('two sides', raw_data.bids.length > 0 && raw_data.asks.length > 0)
    for (const row of [...raw_data.bids, ...raw_data.asks]) {
      same('four strings', row.map((part) => typeof part), Array(4).fill('string'))
    }
    const prices = (rows) => rows.map((row) => Number(row[0]))
    const [bids, asks] = [prices(raw_data.bids), prices(raw_data.asks)]
    same('bids fall', bids, [...bids].sort((a, b) => b - a))
    same('asks rise', asks, [...asks].sort((a, b) => a - b))
    holds('not crossed', bids[0] < asks[0], [bids[0], asks[0]])
    same('mid price', depth.mid_price, (bids[0] + asks[0]) / 2)
  })
  await step('depth with a limit and a coarser level', async () => {
    const { raw_data } = accepted(await exchange.getDepth({ market, level: 2, limit: 1 }))
    holds('one row a side', raw_data.bids.length <= 1 && raw_data.asks.length <= 1)
    same('whole prices', /^\d+(\.0+)?$/.test(raw_data.bids[0][0]), true)
  })
  await step('depth of an unknown market: 108000', async () => {
    refused(await exchange.getDepth({ market: 'ETH-NOPE' }), 108000)
  })
  await step('depth at a level beyond the last: 108001', async () => {
    refused(await exchange.getDepth({ market, level: 9 }), 108001)
  })
}

async function accountSteps(session) {
  const { exchange, user, accountId, apiKey } = session
  await step('account of nobody: 101002', async () => {
    refused(await exchange.getAccount({ owner: NOBODY }), 101002)
  })
  await step('account of the zero address: 101001', async () => {
    refused(await exchange.getAccount({ owner: `0x${'0'.repeat(40)}` }), 101001)
  })
  await step('balances: a map by token', async () => {
    const { userBalances } = accepted(await user.getUserBalances({ accountId, tokens: '' }, apiKey))
    same('ETH', userBalances[0].total, '40000000000000000000')
    same('USDC', userBalances[1].total, '100000000000')
    same('nothing locked', [userBalances[0].locked, userBalances[1].locked], ['0', '0'])
    same('nothing pending', userBalances[0].pending, { withdraw: '0', deposit: '0' })
  })
  await step('balances of some tokens: the comma arrives as %2C', async () => {
    const { userBalances } = accepted(await user.getUserBalances({ accountId, tokens: '1,0' }, apiKey))
    same('both', Object.keys(userBalances), ['0', '1'])
    const one = accepted(await user.getUserBalances({ accountId, tokens: '1' }, apiKey))
    same('one', Object.keys(one.userBalances), ['1'])
  })
  await step('balances without, with a wrong, with somebody else\'s key', async () => {
    refused(await user.getUserBalances({ accountId }, ''), 104001)
    refused(await user.getUserBalances({ accountId }, 'x'.repeat(64)), 104002)
    refused(await user.getUserBalances({ accountId: 1_000_000 }, apiKey), 104003)
  })
  await step('storage ids: even for orders, odd for the rest', async () => {
    const { orderId, offchainId } = accepted(
      await user.getNextStorageId({ accountId, sellTokenId: 0 }, apiKey),
    )
    same('parities', [orderId % 2, offchainId % 2], [0, 1])
  })
}

async function poolSteps({ amm, accountId, apiKey }) {
  await step('pools: an empty list', async () => {
    const { ammpools } = accepted(await amm.getAmmPoolConf())
    same('pools', ammpools, {})
  })
  await step('the balance of a pool that is not there: 100001 that says so', async () => {
    refused(await amm.getAmmPoolSnapshot({ poolAddress: NOBODY }), 100001, /no such pool/)
  })
  await step('pool transactions: none', async () => {
    const all = accepted(await amm.getUserAmmPoolTxs({ accountId }, apiKey))
    same('all', [all.totalNum, all.userAmmPoolTxs], [0, []])
    const some = accepted(
      await amm.getUserAmmPoolTxs(
        { accountId, txTypes: '0', txStatus: 'processed', limit: 10, offset: 0 },
        apiKey,
      ),
    )
    same('some', some.totalNum, 0)
  })
}
