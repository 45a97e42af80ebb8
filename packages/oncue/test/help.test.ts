import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createOncue } from '../src/program.ts'
import { call, run } from './harness.ts'

/** `queues pause`, with the commands above it. */
function pathsOf(command: Command, path: readonly string[] = []): string[][] {
  return command.commands.flatMap((each) => {
    const own = [...path, each.name()]
    return [own, ...pathsOf(each, own)]
  })
}

test('--help lists every command, in its group', async () => {
  const { code, stdout } = await run(['--help'])
  expect(code).toBe(0)
  expect(stdout).toMatchSnapshot()
})

test('without a command it shows the help, and exits as for wrong usage', async () => {
  const { code, stdout, stderr } = await call()
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('Usage: oncue <command>')
})

test('--version prints the version alone', async () => {
  expect(await call('--version')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/),
  })
})

test.each([
  [
    'list',
    'blocked, pending (or waiting, scheduled, retrying), processing, completed, failed, cancelled or suspended',
  ],
  ['requeue', 'completed, failed or cancelled'],
  ['run-now', 'pending (or waiting, scheduled, retrying)'],
  ['cancel', 'blocked, pending (or waiting, scheduled, retrying), processing or suspended'],
  ['delete', 'pending (or waiting, scheduled, retrying) or failed'],
])('the help of %s lists the statuses it accepts', async (command, statuses) => {
  const { stdout } = await call(command, '--help')
  expect(stdout.replace(/\s+/g, ' ')).toContain(`--status <status> ${statuses}`)
})

describe.each(pathsOf(createOncue()).map((path) => [path.join(' '), path] as const))('%s', (name, path) => {
  test('has examples in its help that name it', async () => {
    const { code, stdout } = await call(...path, '--help')
    expect(code).toBe(0)
    const [, examples = ''] = stdout.split('Examples:\n')
    const lines = examples.split('\n\n')[0]?.trimEnd().split('\n') ?? []
    expect(lines).not.toEqual([])
    for (const line of lines) expect(`${line} `).toContain(`  $ oncue ${name} `)
  })

  test('describes itself, its arguments and its options in one style', async () => {
    const { stdout } = await call(...path, '--help')
    const [, description = ''] = stdout.split('\n\n')
    expect(description).toMatch(/^[a-z]/)
    expect(description.trimEnd()).not.toMatch(/\.$/)
    expect(stdout.split('\n').filter((line) => /^ {2}(--\w[\w-]*( <\S+>)?|[a-z]+)$/.test(line))).toEqual([])
  })

  test('has the options of all commands; those of a database, if it opens one', async () => {
    const { stdout } = await call(...path, '--help')
    const isGroup = /^Commands:$/m.test(stdout)
    const opensNone = name === 'mcp' || name === 'init'
    for (const option of isGroup ? [] : ['--json']) expect(stdout).toContain(`  ${option}`)
    for (const option of isGroup ? [] : ['--url <url>', '--schema <name>'])
      expect(stdout.includes(`  ${option}`)).toBe(!opensNone)
  })
})
