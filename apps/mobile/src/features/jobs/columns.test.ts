import { describe, expect, it } from 'vitest'
import { COLUMNS, chosenColumns, fitting } from './columns.ts'

const idsOf = (columns: readonly { readonly id: string }[]) => columns.map(({ id }) => id)

describe('columns', () => {
  it('are the usual ones until some are chosen, and those in the order of the table', () => {
    expect(idsOf(chosenColumns(null))).not.toContain('meta')
    expect(idsOf(chosenColumns(['meta', 'status', 'gone']))).toEqual(['status', 'meta'])
  })

  it('that do not fit are left out from the right, so that the others stay in place', () => {
    const all = idsOf(COLUMNS)
    for (const room of [0, 300, 650, 900, 5_000]) {
      const shown = idsOf(fitting(COLUMNS, room, false))
      expect(shown).toEqual(all.slice(0, shown.length))
      expect(shown.length).toBeGreaterThan(0)
    }
    expect(idsOf(fitting(COLUMNS, 5_000, true))).toEqual(all)
  })

  it('fit all on a usual desk, also when all are chosen', () => {
    expect(fitting(COLUMNS, 1_440 - 212 - 32 - 32, false)).toEqual(COLUMNS)
  })

  it('tell the error beside a rail on the smallest desk', () => {
    // 1024 px without the rail, the padding and the button of the preview.
    expect(idsOf(fitting(COLUMNS, 1_024 - 212 - 32 - 32, false))).toContain('error')
  })
})
