// Orders: submitted and signed by the library, read back, listed, cancelled by hash and by client id.

import { accepted, holds, refused, same, step } from './steps.mjs'

const ETH = 0
const USDC = 1
const BASE = 10n ** 18n
const QUOTE = 10n ** 6n

/** Client order ids that public canonical forms of a signed cancel treat differently. */
const AWKWARD_IDS = [
  'plain-1_2.3~4',
  'with space',
  ' leading and trailing ',
  'a/b/c',
  'one+two',
  'one,two,three',
  'a=b&c=d',
  '100%',
  '%2C%20',
  "!'()*",
  'a:b@c?d#e',
  '"quoted" \\ {json}',
  'schön-日本-🪙',
  'x'.repeat(120),
]

export async function orderSteps(session) {
  await prepare(session)
  await restingSteps(session)
  await tradingSteps(session)
  await listSteps(session)
  await awkwardSteps(session)
  await refusalSteps(session)
  await step('nothing rests and nothing is locked at the end', async () => {
    const { accountId, apiKey, user } = session
    const open = accepted(await user.getOrders({ accountId, status: ['processing'] }, apiKey))
    same('open orders', open.totalNum, 0)
    const { userBalances } = accepted(await user.getUserBalances({ accountId }, apiKey))
    same('locked', [userBalances[ETH].locked, userBalances[USDC].locked], ['0', '0'])
  })
}

/** Storage ids are asked for once and counted up by two, as clients do. */
async function prepare(session) {
  const { user, accountId, apiKey, exchangeAddress, exchange } = session
  const next = {}
  for (const sellTokenId of [ETH, USDC]) {
    const ids = accepted(await user.getNextStorageId({ accountId, sellTokenId }, apiKey))
    next[sellTokenId] = ids.orderId
  }
  const { depth } = accepted(await exchange.getDepth({ market: 'ETH-USDC' }))
  session.mid = Math.round(depth.mid_price)

  /** An order for `milli` thousandths of an ETH at a whole price, far from the middle or through it. */
  session.order = (side, price, milli, more = {}) => {
    const base = { tokenId: ETH, volume: String((BASE * BigInt(milli)) / 1000n) }
    const quote = { tokenId: USDC, volume: String((QUOTE * BigInt(price) * BigInt(milli)) / 1000n) }
    const buy = side === 'BUY'
    const sellToken = buy ? quote : base
    const storageId = next[sellToken.tokenId]
    next[sellToken.tokenId] += 2
    return {
      exchange: exchangeAddress,
      accountId,
      storageId,
      sellToken,
      buyToken: buy ? base : quote,
      allOrNone: false,
      fillAmountBOrS: buy,
      validUntil: Math.floor(Date.now() / 1000) + 3_600,
      maxFeeBips: 60,
      orderType: 'LIMIT_ORDER',
      ...more,
    }
  }
  session.submit = (order) => user.submitOrder(order, session.sk, apiKey)
  session.cancel = (which) => user.cancelOrder({ accountId, ...which }, session.sk, apiKey)
  session.detail = async (orderHash) =>
    accepted(await user.getOrderDetails({ accountId, orderHash }, apiKey)).orderDetail
}

async function restingSteps(session) {
  const { sdk, mid, order, submit, cancel, detail } = session
  const low = Math.round(mid * 0.8)
  let bid
  await step('submit: the hash is the one the library computes', async () => {
    bid = order('BUY', low, 20, { clientOrderId: 'first' })
    const ack = accepted(await submit(bid))
    same('hash', BigInt(ack.hash), BigInt(sdk.getOrderHash({ ...bid, taker: `0x${'0'.repeat(40)}` })))
    holds('66 characters', /^0x[0-9a-f]{64}$/.test(ack.hash), ack.hash)
    same('rest', [ack.clientOrderId, ack.status, ack.isIdempotent], ['first', 'processing', false])
    bid.hash = ack.hash
  })
  await step('get: every field of a resting order', async () => {
    const got = await detail(bid.hash)
    same('names', [got.hash, got.clientOrderId, got.market], [bid.hash, 'first', 'ETH-USDC'])
    same('kind', [got.side, got.orderType, got.status], ['BUY', 'LIMIT_ORDER', 'processing'])
    same('price', Number(got.price), low)
    same('volumes', got.volumes, {
      baseAmount: bid.buyToken.volume,
      quoteAmount: bid.sellToken.volume,
      baseFilled: '0',
      quoteFilled: '0',
      fee: '0',
    })
    same('end', got.validity.end, bid.validUntil)
    holds('start in seconds', Math.abs(got.validity.start - Date.now() / 1000) < 60, got.validity)
  })
  await step('the whole sell amount is locked', async () => {
    const { user, accountId, apiKey } = session
    const { userBalances } = accepted(await user.getUserBalances({ accountId }, apiKey))
    same('locked', userBalances[USDC].locked, bid.sellToken.volume)
  })
  await step('cancel by hash', async () => {
    const { raw_data } = accepted(await cancel({ orderHash: bid.hash }))
    same('answer', [raw_data.hash, raw_data.clientOrderId, raw_data.status], [bid.hash, 'first', 'cancelled'])
    same('read back', (await detail(bid.hash)).status, 'cancelled')
  })
  await step('cancel of a finished order: 100001; of an unknown one: 102117', async () => {
    refused(await cancel({ orderHash: bid.hash }), 100001)
    refused(await cancel({ orderHash: `0x${'1'.repeat(64)}` }), 102117)
    refused(await cancel({ clientOrderId: 'never seen' }), 102117)
  })
  await step('cancel by hash and client id together, and by neither', async () => {
    const ask = order('SELL', mid * 2, 20, { clientOrderId: 'both' })
    const { hash } = accepted(await submit(ask))
    refused(await cancel({ orderHash: hash, clientOrderId: 'first' }), 102117)
    refused(await cancel({}), 100001)
    same('status', accepted(await cancel({ orderHash: hash, clientOrderId: 'both' })).raw_data.status, 'cancelled')
  })
  await step('an order without a client id has its hash as one', async () => {
    const ack = accepted(await submit(order('BUY', low, 20)))
    same('client id', ack.clientOrderId, ack.hash)
    accepted(await cancel({ clientOrderId: ack.hash }))
  })
}

async function tradingSteps(session) {
  const { mid, order, submit, detail, user, accountId, apiKey } = session
  const balances = async () =>
    accepted(await user.getUserBalances({ accountId, tokens: '0,1' }, apiKey)).userBalances
  await step('TAKER_ONLY trades at once; fee and balances to the unit', async () => {
    const before = await balances()
    const ack = accepted(await submit(order('BUY', Math.round(mid * 1.1), 5, { orderType: 'TAKER_ONLY' })))
    same('status', ack.status, 'processed')
    const { volumes } = await detail(ack.hash)
    const [base, quote, fee] = [volumes.baseFilled, volumes.quoteFilled, volumes.fee].map(BigInt)
    same('filled', base, (BASE * 5n) / 1000n)
    // Rounded down by fill, as below.
    const less = (base * 10n) / 10_000n - fee
    same('fee: 10 bips of what was bought', less >= 0n && less < 10n, true)
    const after = await balances()
    same('ETH', BigInt(after[ETH].total) - BigInt(before[ETH].total), base - fee)
    same('USDC', BigInt(before[USDC].total) - BigInt(after[USDC].total), quote)
  })
  await step('TAKER_ONLY that meets nothing dies', async () => {
    const ack = accepted(await submit(order('BUY', Math.round(mid * 0.5), 5, { orderType: 'TAKER_ONLY' })))
    same('status', ack.status, 'cancelled')
  })
  await step('a SELL by its sold amount trades; the fee is in the quote token', async () => {
    const ack = accepted(await submit(order('SELL', Math.round(mid * 0.9), 5)))
    same('status', ack.status, 'processed')
    const { volumes, side } = await detail(ack.hash)
    same('side', side, 'SELL')
    // Each fill's fee is rounded down, so that several are a unit less for each but one.
    const whole = (BigInt(volumes.quoteFilled) * 10n) / 10_000n
    const less = whole - BigInt(volumes.fee)
    same('fee rounded down by fill', less >= 0n && less < 10n, true)
  })
  await step('MAKER_ONLY that would trade: 102120; one that rests is taken', async () => {
    const through = order('BUY', Math.round(mid * 1.1), 5, { orderType: 'MAKER_ONLY' })
    refused(await submit(through), 102120)
    const ack = accepted(await submit(order('SELL', mid * 2, 5, { orderType: 'MAKER_ONLY' })))
    same('status', ack.status, 'processing')
    accepted(await session.cancel({ orderHash: ack.hash }))
  })
}

async function listSteps(session) {
  const { mid, order, submit, cancel, user, accountId, apiKey } = session
  const list = async (filter) => accepted(await user.getOrders({ accountId, ...filter }, apiKey))
  const began = Date.now()
  const made = []
  await step('list: newest first, totals, pages', async () => {
    for (const [side, price, orderType] of [
      ['BUY', Math.round(mid * 0.8), 'LIMIT_ORDER'],
      ['SELL', mid * 2, 'LIMIT_ORDER'],
      ['BUY', Math.round(mid * 0.8), 'MAKER_ONLY'],
    ]) {
      made.unshift(accepted(await submit(order(side, price, 5, { orderType }))).hash)
    }
    const hashes = ({ orders }) => orders.map((each) => each.hash)
    const open = await list({ status: ['processing'] })
    same('open', [open.totalNum, hashes(open)], [3, made])
    const page = await list({ status: ['processing'], limit: 2, offset: 1 })
    same('page', [page.totalNum, hashes(page)], [3, made.slice(1)])
  })
  await step('list: filters by market, side, status, type and time', async () => {
    const status = ['processing']
    const count = async (filter) => (await list(filter)).totalNum
    same('market', await count({ status, market: 'ETH-USDC' }), 3)
    same('another market', await count({ status, market: 'USDC-ETH' }), 0)
    same('side', await count({ status, side: ['BUY'] }), 2)
    same('sides', await count({ status, side: ['BUY', 'SELL'] }), 3)
    same('type', await count({ status, orderTypes: 'MAKER_ONLY' }), 1)
    same('types', await count({ status, orderTypes: 'MAKER_ONLY,LIMIT_ORDER' }), 3)
    const [cancelled, processed] = [await count({ status: ['cancelled'] }), await count({ status: ['processed'] })]
    holds('some of both', cancelled > 0 && processed > 0, [cancelled, processed])
    same('statuses, the comma as %2C', await count({ status: ['cancelled', 'processed'] }), cancelled + processed)
    same('no status: all', await count({}), cancelled + processed + 3)
    same('from', await count({ start: began }), 3)
    same('to', await count({ end: began - 1 }), cancelled + processed)
    same('from the future', await count({ start: began + 3_600_000 }), 0)
  })
  await step('list with another account\'s number: 104003', async () => {
    refused(await user.getOrders({ accountId: 1_000_000 }, apiKey), 104003)
  })
  for (const orderHash of made) accepted(await cancel({ orderHash }))
}

async function awkwardSteps(session) {
  const { mid, order, submit, cancel, detail } = session
  for (const clientOrderId of AWKWARD_IDS) {
    const shown = clientOrderId.length > 30 ? `${clientOrderId.length} bytes` : JSON.stringify(clientOrderId)
    await step(`submit, get and cancel by the client id ${shown}`, async () => {
      const ack = accepted(await submit(order('BUY', Math.round(mid * 0.8), 5, { clientOrderId })))
      same('acknowledged', ack.clientOrderId, clientOrderId)
      same('read back', (await detail(ack.hash)).clientOrderId, clientOrderId)
      const cancelled = await cancel({ clientOrderId })
      if (cancelled.code !== undefined) await cancel({ orderHash: ack.hash })
      const { raw_data } = accepted(cancelled)
      same('cancelled', [raw_data.hash, raw_data.clientOrderId, raw_data.status], [ack.hash, clientOrderId, 'cancelled'])
    })
  }
}

async function refusalSteps(session) {
  const { mid, order, submit, sk, user, accountId, apiKey } = session
  const low = Math.round(mid * 0.8)
  const bid = (more) => order('BUY', low, 5, more)
  const refusals = [
    ['another exchange', 102001, () => bid({ exchange: `0x${'9'.repeat(40)}` })],
    ['an unlisted token', 102002, () => bid({ sellToken: { tokenId: 9, volume: '1000000' } })],
    ['an account that is not there', 102003, () => bid({ accountId: 77 })],
    ['the same token twice', 102005, () => bid({ buyToken: { tokenId: USDC, volume: '1000000' } })],
    ['a fee of 64 bips', 102006, () => bid({ maxFeeBips: 64 })],
    ['an order that has expired', 102008, () => bid({ validUntil: Math.floor(Date.now() / 1000) - 1 })],
    ['more than there is', 102011, () => order('BUY', low, 900_000)],
    ['too little', 102012, () => order('BUY', low, 0, { buyToken: { tokenId: ETH, volume: '1' }, sellToken: { tokenId: USDC, volume: '2' } })],
    ['too much', 102020, () => order('SELL', mid, 2_000_000)],
    ['a validity in milliseconds', 102120, () => bid({ validUntil: Date.now() + 3_600_000 })],
    ['all or none', 102120, () => bid({ allOrNone: true })],
    ['a client id of 121 bytes', 102120, () => bid({ clientOrderId: 'x'.repeat(121) })],
    ['an order through a pool that is not there', 102005, () => bid({ orderType: 'AMM', poolAddress: `0x${'b'.repeat(40)}` })],
  ]
  for (const [what, code, make] of refusals) {
    await step(`submit of ${what}: ${code}`, async () => refused(await submit(make()), code))
  }
  await step('the same order again: 102007; its slot again: 102007; an older id: 102004', async () => {
    const first = bid()
    const { hash } = accepted(await submit({ ...first }))
    refused(await submit({ ...first }), 102007)
    refused(await submit({ ...first, maxFeeBips: 59 }), 102007)
    const newer = bid({ storageId: first.storageId + 16_384 })
    const { hash: other } = accepted(await submit({ ...newer }))
    refused(await submit({ ...first, maxFeeBips: 58 }), 102004)
    same('what was in the slot', (await session.detail(hash)).status, 'cancelled')
    accepted(await session.cancel({ orderHash: other }))
  })
  await step('submit signed by another key: 104005', async () => {
    const wrong = '0x1234567890abcdef1234567890abcdef1234567890abcdef1234567890abcd'
    refused(await user.submitOrder(bid(), wrong, apiKey), 104005)
  })
  await step('submit without and with a wrong API key: 104001, 104002', async () => {
    refused(await user.submitOrder(bid(), sk, ''), 104001)
    refused(await user.submitOrder(bid(), sk, 'y'.repeat(64)), 104002)
  })
  await step('get of an unknown hash and without one: 107003, 107002', async () => {
    refused(await user.getOrderDetails({ accountId, orderHash: `0x${'2'.repeat(64)}` }, apiKey), 107003)
    refused(await user.getOrderDetails({ accountId }, apiKey), 107002)
  })
}
