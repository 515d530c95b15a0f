/** Other packages read and print YAML with these functions, as the API server and kubectl do. */

export { parseYamlText } from './registry/bodies/yaml-body.ts';
