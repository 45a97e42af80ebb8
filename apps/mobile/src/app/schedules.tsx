export { SchedulesScreen as default } from '../features/rare-screens.tsx'
