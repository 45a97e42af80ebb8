import { diagnose, type Finding, openStore } from '@oncue/db'
import { count, EXIT, type Output, plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { implement, withProgress } from './command.ts'
import { pad, styled } from './format.ts'
import { examine } from './queue-health.ts'

export function addDoctor(program: Command): void {
  implement<object>(
    program
      .command('doctor')
      .summary('check database, workers and queues, and suggest fixes')
      .description('check the database, the workers and the queues, and suggest fixes; changes nothing')
      .addHelpText('after', '\nExit codes: 0 nothing failed (there may be warnings), 1 something failed'),
    ['', '--json'],
    async ({ url, schema }) => {
      const findings = await withProgress('checking', () => lookAt(url, schema))
      return toAnswer(findings)
    },
  )
}

async function lookAt(url: string, schema: string): Promise<Finding[]> {
  const findings = await diagnose(url, { schema })
  // With these the store does not open, and the problem has been reported.
  const isClosed = findings.some(
    ({ check, status }) => status === 'fail' && (check === 'database' || check === 'migrations'),
  )
  if (isClosed) return findings
  const store = await openStore(url, { schema, poolSize: 2 })
  try {
    return [...findings, ...(await examine(store))]
  } finally {
    await store.close()
  }
}

const MARKS = { ok: ['green', '✓'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const

function toAnswer(findings: readonly Finding[]): Output {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, status, found, advice }) => {
    const [colour, mark] = MARKS[status]
    const line = `${styled(colour, mark)} ${pad(check, width)}  ${plain(found)}`
    return advice ? [line, `  ${' '.repeat(width)}  ${styled('dim', advice)}`] : [line]
  })
  const having = (wanted: Finding['status']) => findings.filter(({ status }) => status === wanted).length
  const [failed, warned] = [having('fail'), having('warn')]
  const verdict =
    failed + warned === 0
      ? 'all is well'
      : [failed && count(failed, 'failure'), warned && count(warned, 'warning')].filter(Boolean).join(', ')
  return {
    text: [...lines, '', verdict].join('\n'),
    json: { healthy: failed === 0, findings },
    exit: failed ? EXIT.failed : EXIT.done,
  }
}
