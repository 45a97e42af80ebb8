export { ActivityScreen as default } from '../features/rare-screens.tsx'
