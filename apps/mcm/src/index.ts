export { serveDashboard } from './dashboard/command.ts';
export { UserError } from './errors.ts';
export { applyObjects } from './install/apply.ts';
export { deployFiles } from './install/files.ts';
export { type InstallSection, installSections } from './install/objects.ts';
export { DEFAULT_INSTALL, type InstallSettings } from './install/settings.ts';
export { type Provider, type ProviderName, providerFor } from './up/clouds/index.ts';
export { Program, type ProgramSpec, type ProgramState } from './up/processes.ts';
export { userDataFor } from './up/user-data.ts';
