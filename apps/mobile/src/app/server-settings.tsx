export { ServerSettingsScreen as default } from '../features/server-settings/server-settings-screen.tsx'
