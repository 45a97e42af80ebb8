import { describe, expect, test } from 'vitest'
import { countWrongRuns } from './cell.ts'
import { CONTENDERS } from './contenders/index.ts'
import { chooseContenders, chooseShapes, planCells, rotate } from './plan.ts'
import { parseTimes } from './server-cpu.ts'
import { byQueue, SHAPE_NAMES } from './shapes.ts'

const named = (only?: string[], database?: 'postgres' | 'sqlite') =>
  chooseContenders(CONTENDERS, only, database).map(({ name }) => name)

describe('--only', () => {
  test('takes how names begin, in any case', () => {
    expect(named(['oncue', 'PG-boss'])).toEqual(['Oncue', 'pg-boss', 'Oncue', 'Oncue NORMAL'])
  })

  test('takes all when absent, of one database when named', () => {
    expect(named()).toHaveLength(CONTENDERS.length)
    expect(named(undefined, 'sqlite')).toEqual(['Oncue', 'Oncue NORMAL', 'plainjob', 'bare SQL'])
  })

  test('refuses a name that there is not', () => {
    expect(() => named(['oncue', 'sidekiq'])).toThrow(
      'there is no contender "sidekiq"; there are Oncue, graphile',
    )
  })
})

describe('--shapes', () => {
  test('is no-op when absent, and everything for all', () => {
    expect(chooseShapes(undefined)).toEqual(['no-op'])
    expect(chooseShapes(['all'])).toEqual(SHAPE_NAMES)
  })

  test('refuses a name that there is not', () => {
    expect(() => chooseShapes(['keys', 'noop'])).toThrow('there is no shape "noop"; there are no-op, 10ms')
  })
})

test('cells are all combinations, with fewer jobs for slow shapes', () => {
  const cells = planCells(['no-op', '10ms'], [40_000, 200_000], [1, 2])
  expect(cells).toHaveLength(8)
  expect(cells[2]).toEqual({ shape: '10ms', size: 40_000, jobs: 4_000, processes: 1 })
})

test('the order rotates', () => {
  expect(rotate(['a', 'b', 'c'], 0)).toEqual(['a', 'b', 'c'])
  expect(rotate(['a', 'b', 'c'], 4)).toEqual(['b', 'c', 'a'])
})

test('jobs are spread over 20 queues, or all in one', () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  expect(byQueue('queues', numbers, 'bench').get('queue-3')).toEqual([3, 23])
  expect(byQueue('no-op', numbers, 'bench')).toEqual(new Map([['bench', numbers]]))
})

test('lost and repeated jobs are counted across processes', () => {
  const runs = [Uint8Array.of(1, 0, 1, 0), Uint8Array.of(0, 1, 1, 0)]
  expect(countWrongRuns(runs, 4, 1)).toBe(2)
  expect(countWrongRuns(runs, 4, 2)).toBe(3)
})

test('CPU of a process is read whatever its name', () => {
  const stat = `42 (postgres: a) b) S 7 ${'0 '.repeat(9)}11 12 13 14 ${'0 '.repeat(9)}`
  expect(parseTimes(stat, '2500000 1 2\n')).toEqual({ parent: 7, ownMs: 2.5, endedChildrenMs: 270 })
})
