import { later } from '../components/ui/later.tsx'
import { SkeletonRows } from '../components/ui/skeleton.tsx'

export const JobPreview = later(
  async () => (await import('./jobs/job-preview.tsx')).JobPreview,
  <SkeletonRows />,
)
export const JobTable = later(async () => (await import('./jobs/job-table.tsx')).JobTable, <SkeletonRows />)
export const TimeSheet = later(async () => (await import('./jobs/time-sheet.tsx')).TimeSheet, null)
export const ViewSheet = later(async () => (await import('./jobs/view-sheet.tsx')).ViewSheet, null)
export const KeySheet = later(async () => (await import('./palette/key-sheet.tsx')).KeySheet, null)
export const Palette = later(async () => (await import('./palette/palette.tsx')).Palette, null)

const sheets = () => import('./schema-sheets.ts')

export const AnswerSheet = later(async () => (await sheets()).AnswerSheet, null)
export const EnqueueSheet = later(async () => (await sheets()).EnqueueSheet, null)
export const SignalSheet = later(async () => (await sheets()).SignalSheet, null)
