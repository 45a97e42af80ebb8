import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

/** Runs in a process of its own, because the log writes to file descriptor 1. */
async function printed(options: object): Promise<string> {
  const program = `
    import { createLogger } from ${JSON.stringify(import.meta.resolve('../src/logger.ts'))}
    const log = createLogger(${JSON.stringify(options)}).child({ worker: 'w1' })
    log.debug({}, 'details')
    log.info({ job: 'j1' }, 'started')
    log.error({ err: new TypeError('no luck') }, 'failed')
    process.exit()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return stdout
}

test('one line of JSON each, with level, time and fields, written before the process ends', async () => {
  const lines = (await printed({}))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      worker: 'w1',
      job: 'j1',
      msg: 'started',
    },
    {
      level: 'error',
      time: expect.any(String),
      worker: 'w1',
      err: { type: 'TypeError', message: 'no luck', stack: expect.stringContaining('TypeError: no luck') },
      msg: 'failed',
    },
  ])
})

test('for people where that is asked for', async () => {
  expect(await printed({ pretty: true })).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: started \{"worker":"w1","job":"j1"\}\n/,
  )
})

test('as much as the level says', async () => {
  expect(await printed({ level: 'debug' })).toContain('"msg":"details"')
  expect(await printed({ level: 'silent' })).toBe('')
})

test('for people as one line each, whatever a message says', async () => {
  const script = `
    import { createLogger } from ${JSON.stringify(import.meta.resolve('../src/logger.ts'))}
    const log = createLogger({ pretty: true })
    log.info({ path: 'a\\nb' }, 'first\\n[12:00:00.000] INFO: forged')
    log.child({ name: 'x\\n[12:00:00.000] INFO: forged' }).info({}, 'second')
    log.error({ err: new Error('no\\u001b[2J\\n[12:00:00.000] INFO: forged') }, 'third')
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  // What belongs to an error is indented.
  const lines = stdout.split('\n').filter((line) => /^[^ ]/.test(line))
  expect(lines).toEqual([
    expect.stringMatching(/INFO: first\\n\[12:00:00.000\] INFO: forged .*"a\\nb"/),
    expect.stringMatching(/INFO .*forged\): second/),
    expect.stringMatching(/ERROR: third/),
  ])
  expect(stdout).not.toContain('\u001b[2J')
})

test('in a file: readable, with the date, without colours, after what is there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oncue-log-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'log')
  expect(await printed({ file })).toBe('')
  expect(await printed({ file })).toBe('')
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => /INFO/.test(line))
  const line = expect.stringMatching(
    /^\[\d{4}(-\d\d){2}T[^\]]+\] INFO: started \{"worker":"w1","job":"j1"\}$/,
  )
  expect(lines).toEqual([line, line])
})
