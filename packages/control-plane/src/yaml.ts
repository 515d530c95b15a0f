/** YAML as the API server and kubectl read it, for other packages. */

export { parseYamlText } from './registry/bodies/yaml-body.ts';
