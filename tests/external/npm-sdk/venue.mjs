// The exchange under test: its own process, its own folder, a free port, a seeded crowd.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START_MS = 20_000
const STOP_MS = 10_000

/** Starts the exchange with this signing key and owner of the maker's account. */
export async function startVenue({ binary, template, eddsaKey, owner }) {
  const dir = mkdtempSync(join(tmpdir(), 'cambist-npm-sdk-'))
  const keys = join(dir, 'keys')
  mkdirSync(keys, { mode: 0o700 })
  writeFileSync(join(keys, 'eddsa_key'), `${eddsaKey}\n`, { mode: 0o600 })
  const config = join(dir, 'venue.toml')
  writeFileSync(config, configure(readFileSync(template, 'utf8'), owner))

  const child = spawn(binary, ['--json', 'venue', '--config', config], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((done) => child.once('close', (code, signal) => done({ code, signal })))
  let log = ''
  child.stderr.on('data', (chunk) => (log = (log + chunk).slice(-4_000)))
  try {
    const started = await firstValue(child, ended)
    return {
      url: `http://${started.address}`,
      accountId: started.account_id,
      apiKey: readFileSync(join(keys, 'api_key'), 'utf8').trim(),
      admin: (...args) => admin(binary, config, args),
      stop: () => stop(child, ended, dir),
    }
  } catch (error) {
    await stop(child, ended, dir)
    throw new Error(`the exchange did not start: ${error.message}\n${log}`)
  }
}

/** Asks for what only the operator may. */
function admin(binary, config, args) {
  const { status, stderr } = spawnSync(binary, ['venue', 'admin', '--config', config, ...args])
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}: ${stderr}`)
}

/** The example configuration with an address, folder, owner, funds and rate of our own. */
function configure(text, owner) {
  const changes = [
    [/^address = "127\.0\.0\.1:\d+"$/m, 'address = "127.0.0.1:0"'],
    [/\.\.\/target\/two-terminals\//g, ''],
    [/^# listen = "127\.0\.0\.1:\d+"$/m, 'listen = "127.0.0.1:0"'],
    [/^# token_file = .*$/m, 'token_file = "admin_token"'],
    [/^owner = .*$/m, `owner = "${owner}"`],
    [/^ETH = .*$/m, 'ETH = "40"'],
    [/^USDC = .*$/m, 'USDC = "100000"'],
    [/^endpoint_per_s = .*$/m, 'endpoint_per_s = 40'],
    [/^endpoint_burst = .*$/m, 'endpoint_burst = 40'],
    // The operator lists the pool here.
    [/^\[\[pool\]\]\n(?:[^[].*\n|\n)*/m, ''],
  ]
  return changes.reduce((before, [from, to]) => {
    if (!from.test(before)) throw new Error(`the example configuration has no line like ${from}`)
    return before.replace(from, to)
  }, text)
}

/** The one JSON value that the program prints when it listens. */
function firstValue(child, ended) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`silent for ${START_MS} ms`)), START_MS)
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      try {
        const value = JSON.parse(text)
        clearTimeout(timer)
        resolve(value)
      } catch {
        // Not all of it has come yet.
      }
    })
    child.once('error', reject)
    ended.then(({ code, signal }) => {
      clearTimeout(timer)
      reject(new Error(`it ended with ${signal ?? `code ${code}`}`))
    })
  })
}

async function stop(child, ended, dir) {
  child.kill('SIGINT')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  const end = await ended
  clearTimeout(timer)
  rmSync(dir, { recursive: true, force: true })
  return end
}
