import { describe, expect, test } from 'vitest'
import { ROUTES } from '../src/http/rest/routes.ts'
import { BY_PATH, PROCEDURES, SESSION } from '../src/procedures/table.ts'

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

  /** The matrix takes each procedure's access from its declaration. In this file a change of it is seen by reviewers. */
  test('the table of access', async () => {
    const lines = [...BY_PATH.values(), ...Object.values(SESSION)].map(({ path, kind, access }) => {
      const routes = ROUTES.filter((route) => route.procedure.path === path)
      const at = routes.map((route) => `${route.method} ${route.path}`).join(', ')
      return `${`${path.padEnd(22)}${kind.padEnd(14)}${access.padEnd(9)}${at}`.trimEnd()}\n`
    })
    await expect(lines.sort().join('')).toMatchFileSnapshot('../procedures.txt')
  })
})
