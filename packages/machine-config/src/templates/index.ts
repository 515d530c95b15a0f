export { TEMPLATE_CONSTANTS, type TemplateInputs, templateData } from './data.ts';
export { fillTemplate, TemplateError } from './engine.ts';
export { type GenerateInput, generateForRole, generateMachineConfigs } from './generate.ts';
export { loadTemplates } from './load.ts';
export { cloudProviderOf, overlaysOf, type Platform, platformOf } from './platform.ts';
export { rolesOf, type TemplateTree } from './tree.ts';
