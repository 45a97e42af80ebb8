import type { Cell } from './cell.ts'
import type { Contender, DatabaseName } from './contender.ts'
import { jobsOf, SHAPE_NAMES, type ShapeName } from './shapes.ts'

/** Those whose names begin with one of the given, in any case: `oncue` names all variants of Oncue. */
export function chooseContenders(
  all: readonly Contender[],
  only: readonly string[] | undefined,
  database: DatabaseName | undefined,
): Contender[] {
  const starts = only?.map((name) => name.toLowerCase())
  const begins = (start: string) => (contender: Contender) => contender.name.toLowerCase().startsWith(start)
  const unknown = starts?.find((start) => !all.some(begins(start)))
  if (unknown !== undefined)
    throw new Error(
      `--only: there is no contender ${JSON.stringify(unknown)}; there are ${namesOf(all).join(', ')}`,
    )
  return all.filter(
    (contender) =>
      (starts === undefined || starts.some((start) => begins(start)(contender))) &&
      (database === undefined || contender.database === database),
  )
}

export function chooseShapes(names: readonly string[] | undefined): ShapeName[] {
  if (names?.includes('all')) return SHAPE_NAMES
  return (names ?? ['no-op']).map((name) => {
    const found = SHAPE_NAMES.find((shape) => shape === name)
    if (!found)
      throw new Error(
        `--shapes: there is no shape ${JSON.stringify(name)}; there are ${SHAPE_NAMES.join(', ')}`,
      )
    return found
  })
}

export function planCells(
  shapes: readonly ShapeName[],
  sizes: readonly number[],
  processes: readonly number[],
): Omit<Cell, 'contender'>[] {
  return sizes.flatMap((size) =>
    shapes.flatMap((shape) =>
      processes.map((n) => ({ shape, size, jobs: jobsOf(shape, size), processes: n })),
    ),
  )
}

/** The order changes with the round, so that no contender always follows the same one. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}

const namesOf = (all: readonly Contender[]) => [...new Set(all.map(({ name }) => name))]
