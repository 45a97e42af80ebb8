export { SchedulesScreen as default } from '../features/schedules/schedules-screen.tsx'
