export { TokensScreen as default } from '../features/rare-screens.tsx'
