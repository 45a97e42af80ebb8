export { ActivityScreen as default } from '../features/activity/activity-screen.tsx'
