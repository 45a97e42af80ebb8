/**
 * Parts that few visits need: of a desk, of a keyboard, of those who enqueue by hand. A browser loads each when it is
 * first drawn. They are named here alone: one that two others import would be loaded with the first view.
 */
export { JobPreview } from './jobs/job-preview.tsx'
export { JobTable } from './jobs/job-table.tsx'
export { TimeSheet } from './jobs/time-sheet.tsx'
export { ViewSheet } from './jobs/view-sheet.tsx'
export { KeySheet } from './palette/key-sheet.tsx'
export { Palette } from './palette/palette.tsx'
export { AnswerSheet, EnqueueSheet, SignalSheet } from './schema-sheets.ts'
