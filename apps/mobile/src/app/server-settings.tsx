export { ServerSettingsScreen as default } from '../features/rare-screens.tsx'
