import { expect, test } from 'vitest'
import { problemOfNode } from './node-version.ts'

test.each(['22.18.0', '22.20.1', '24.0.0', '26.1.0'])('Node %s runs the templates', (version) =>
  expect(problemOfNode(version)).toBeNull(),
)

test.each(['18.20.0', '20.19.0', '22.17.9'])('Node %s does not', (version) =>
  expect(problemOfNode(version)).toBe(`Node 22.18 or newer is needed; this is ${version}`),
)
