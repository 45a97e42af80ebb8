export { SettingsScreen as default } from '../features/rare-screens.tsx'
