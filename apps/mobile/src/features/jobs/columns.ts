/** A column of the table of jobs. */
export interface Column {
  readonly id: ColumnId
  readonly label: string
  /** Of its own on a window of usual width, and on a large one. One with `grows` takes what is left. */
  readonly width: number
  readonly large: number
  readonly grows?: boolean
  /** How narrow one that grows may be where that makes room for all. */
  readonly least?: number
  readonly isUsual: boolean
}

export type ColumnId =
  | 'status'
  | 'topic'
  | 'id'
  | 'created'
  | 'queue'
  | 'error'
  | 'next'
  | 'attempts'
  | 'duration'
  | 'meta'

/** From left to right. Where there is no room for all, the last ones are left out: those before them stay in place. */
export const COLUMNS: readonly Column[] = [
  { id: 'status', label: 'Status', width: 124, large: 136, isUsual: true },
  { id: 'topic', label: 'Topic', width: 168, large: 280, isUsual: true },
  { id: 'id', label: 'Id', width: 84, large: 300, isUsual: true },
  { id: 'created', label: 'Created', width: 156, large: 160, isUsual: true },
  { id: 'error', label: 'Error or wait', width: 200, least: 116, large: 280, grows: true, isUsual: true },
  { id: 'queue', label: 'Queue', width: 100, large: 180, isUsual: true },
  { id: 'next', label: 'Due', width: 112, large: 128, isUsual: true },
  { id: 'attempts', label: 'Runs', width: 84, large: 100, isUsual: true },
  { id: 'duration', label: 'Duration', width: 96, large: 120, isUsual: true },
  { id: 'meta', label: 'Meta', width: 116, large: 280, grows: true, isUsual: false },
]

/** A window from here on has room for whole ids. */
export const LARGE = 1_800

/** What was chosen, in the order of the table; null: the usual ones. Names that no column has are left out. */
export function chosenColumns(chosen: readonly string[] | null): readonly Column[] {
  return COLUMNS.filter(({ id, isUsual }) => (chosen === null ? isUsual : chosen.includes(id)))
}

/** Those that fit, from the left; the first in any case. */
export function fitting(columns: readonly Column[], room: number, isLarge: boolean): readonly Column[] {
  const whole = columns.reduce(
    (sum, { width, least, large }) => sum + (isLarge ? large : (least ?? width)),
    0,
  )
  if (whole <= room) return columns
  let left = room
  const end = columns.findIndex((column, at) => {
    left -= isLarge ? column.large : column.width
    return left < 0 && at > 0
  })
  return end === -1 ? columns : columns.slice(0, end)
}
