import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { enqueueOptionsSchema } from '@oncue/core/wire'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** The types in which users of the packages write options. */
const OPTIONS: [file: string, ...types: string[]][] = [
  ['packages/core/src/define/jobs.ts', 'JobConfig', 'Isolation'],
  ['packages/core/src/define/schedule.ts', 'ScheduleConfig'],
  ['packages/core/src/job/retry.ts', 'retryPolicySchema', 'retryOptionsSchema'],
  ['packages/core/src/job/enqueue-options.ts', 'jobDefaultsSchema', 'uniqueSchema', 'enqueueOptionsSchema'],
  ['packages/core/src/wire/jobs.ts', 'jobFilterSchema', 'pageRequestSchema'],
  ['packages/core/src/wire/queues.ts', 'queueSettingsSchema', 'limitSchema'],
  ['packages/db/src/open.ts', 'OpenOptions'],
  ['packages/db/src/queue/hosts.ts', 'Hosts'],
  ['packages/db/src/store.ts', 'ActionOptions'],
  ['packages/sdk/src/client.ts', 'ClientOptions'],
  ['packages/sdk/src/api.ts', 'CallOptions'],
  ['packages/sdk/src/wait.ts', 'WaitOptions'],
  ['apps/worker/src/options.ts', 'WorkerOptions'],
  ['apps/worker/src/testing.ts', 'TestWorkerOptions'],
  ['apps/worker/src/maintenance/maintenance.ts', 'MaintenanceOptions', 'Retention'],
]

const TIMES = /Ms$|Delay$|^delay$|^within$/

/** The options of a type, or of the first object of a zod schema, with their doc comments. */
function optionsOf(file: string, type: string): { name: string; comment: string }[] {
  const path = fileURLToPath(new URL(`../../../${file}`, import.meta.url))
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  const found: { name: string; comment: string }[] = []
  const read = (members: readonly ts.Node[]) => {
    for (const member of members) {
      if (!ts.isPropertySignature(member) && !ts.isPropertyAssignment(member)) continue
      const comment = ts.getJSDocCommentsAndTags(member).map((node) => node.getText())
      found.push({ name: member.name.getText(), comment: comment.join(' ') })
    }
  }
  const objectIn = (node: ts.Node): ts.ObjectLiteralExpression | undefined =>
    ts.isObjectLiteralExpression(node) ? node : ts.forEachChild(node, objectIn)
  for (const node of source.statements) {
    if (ts.isInterfaceDeclaration(node) && node.name.text === type) read(node.members)
    else if (ts.isTypeAliasDeclaration(node) && node.name.text === type && ts.isTypeLiteralNode(node.type))
      read(node.type.members)
    else if (ts.isVariableStatement(node)) {
      const [declared] = node.declarationList.declarations
      if (declared?.name.getText() === type) read(objectIn(declared)?.properties ?? [])
    }
  }
  return found
}

test.each(OPTIONS.flatMap(([file, ...types]) => types.map((type) => [type, file] as const)))(
  'every option of %s is explained, and a time has its unit (%s)',
  (type, file) => {
    const options = optionsOf(file, type)
    expect(options.length).toBeGreaterThan(0)
    for (const { name, comment } of options) {
      expect(comment, `${type}.${name}`).not.toBe('')
      if (TIMES.test(name)) expect(comment, `${type}.${name}`).toMatch(/milliseconds/i)
    }
  },
)

test('the README lists every option of an enqueue', () => {
  const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
  const [, table = ''] = /^## Options$([^#]*)/m.exec(readme) ?? []
  const names = [...table.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  )
  expect(names.toSorted()).toEqual(Object.keys(enqueueOptionsSchema.shape).toSorted())
})
