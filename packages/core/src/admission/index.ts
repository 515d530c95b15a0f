export { admitDefaults, admitValid, type ListDeployments, overlapping } from './handlers.ts';
