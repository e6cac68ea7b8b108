// Steps: run one after the other, one line each, counted. A failed step does not stop the rest.

import { inspect } from 'node:util'

let passed = 0
let failed = 0

/** Runs one step and prints its line. */
export async function step(name, run) {
  try {
    await run()
    passed += 1
    print(`passed  ${name}`)
  } catch (error) {
    failed += 1
    print(`failed  ${name}: ${oneLine(error)}`)
  }
}

/** Prints the closing line; the exit code. */
export function close() {
  print(`${passed} passed, ${failed} failed`)
  return failed === 0 && passed > 0 ? 0 : 1
}

/** Two values are the same, deeply. */
export function same(what, got, wanted) {
  const [left, right] = [show(got), show(wanted)]
  if (left !== right) throw new Error(`${what} is ${left}, not ${right}`)
}

/** A condition holds. */
export function holds(what, condition, seen) {
  if (!condition) throw new Error(seen === undefined ? what : `${what}, but: ${show(seen)}`)
}

/** A result of the library is a refusal with this code and a message for people. */
export function refused(result, code, pattern) {
  same('code', result?.code, code)
  holds('a message is there', typeof result.message === 'string' && result.message !== '', result)
  if (pattern !== undefined) holds(`the message fits ${pattern}`, pattern.test(result.message), result)
}

/** The library throws what the exchange refused, or the transport's error. */
export async function thrown(run) {
  try {
    await run()
  } catch (error) {
    return error
  }
  throw new Error('it succeeded')
}

/** A result of the library is none of the exchange's refusals. */
export function accepted(result) {
  if (result?.code !== undefined) throw new Error(`refused with ${result.code}: ${result.message}`)
  return result
}

function print(line) {
  process.stdout.write(`${line}\n`)
}

function show(value) {
  return inspect(value, { depth: 6, breakLength: Infinity, sorted: true })
}

function oneLine(error) {
  const text = error instanceof Error ? error.message : show(error)
  return text.replace(/\s+/g, ' ').slice(0, 500)
}
