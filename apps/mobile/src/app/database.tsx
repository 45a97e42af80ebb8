export { DatabaseScreen as default } from '../features/rare-screens.tsx'
