export { WorkersScreen as default } from '../features/workers/workers-screen.tsx'
