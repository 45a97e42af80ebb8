export { QuestionsScreen as default } from '../features/rare-screens.tsx'
