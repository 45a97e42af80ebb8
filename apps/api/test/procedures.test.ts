import { describe, expect, test } from 'vitest'
import { ROUTES } from '../src/http/rest/routes.ts'
import { BY_PATH, PROCEDURES } from '../src/procedures/table.ts'

describe('files that are derived from the procedures (write them with vitest -u)', () => {
  test('the list of the SDK', async () => {
    const subjects = Object.entries(PROCEDURES).map(([noun, procedures]) => {
      const kinds = Object.entries(procedures).map(([verb, { kind }]) => `    ${verb}: '${kind}',\n`)
      return `  ${noun}: {\n${kinds.join('')}  },\n`
    })
    const lines = [
      `import type { Procedures } from './api.ts'\n\n`,
      '// Generated from apps/api/src/procedures by apps/api/test/procedures.test.ts. Do not edit.\n',
      `export const PROCEDURES = {\n${subjects.join('')}} as const satisfies Procedures\n`,
    ]
    await expect(lines.join('')).toMatchFileSnapshot('../../../packages/sdk/src/procedures.ts')
  })

  /** The role matrix takes the access of each procedure from its declaration. Here reviewers see when one changes. */
  test('the page of all procedures', async () => {
    const rows = [...BY_PATH.values()].map(({ path, kind, access }) => {
      const routes = ROUTES.filter(({ procedure }) => procedure.path === path)
      const at = routes.map((route) => `\`${route.method} ${route.path}\``).join(', ')
      return [`\`${path}\``, kind, access, at] as const
    })
    const page = [
      '# Procedures',
      'Every call of the API, generated from `apps/api/src/procedures/`. tRPC and the SDK have all of them, REST has some.',
      tableOf([['procedure', 'kind', 'access', 'REST'], ...rows]),
      'Who has which access: [access.md](guides/access.md). `own` takes `read`, or `enqueue` and the id of a job. ' +
        '`anyone` needs no token: the procedure checks for itself.',
    ]
    await expect(`${page.join('\n\n')}\n`).toMatchFileSnapshot('../../../docs/procedures.md')
  })
})

function tableOf([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
