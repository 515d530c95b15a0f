/** Reads and prints YAML as the API server and kubectl do, for other packages. */

export { parseYamlText } from './registry/bodies/yaml-body.ts';
