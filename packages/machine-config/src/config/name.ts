import { createHash } from 'node:crypto';
import type { MachineConfigSpec } from '../kinds/machine-config.ts';
import { printTo, printYaml } from './yaml/yaml.ts';

/**
 * The salt of the original. With this salt, a rendered config has the same name as in the original, so a take-over
 * changes no node.
 */
const SALT = Buffer.from([
  ...[16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253],
  ...[172, 106, 37, 7, 174, 13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135],
  ...[188, 181, 192, 151, 233, 62, 126, 165, 64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227],
  ...[133, 188, 238, 26, 33, 26, 235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22],
]);

/** Returns the text from which the hash is computed. */
export const hashedText = (spec: MachineConfigSpec): string => printYaml(hashed(spec));

const hashed = (spec: MachineConfigSpec): object => ({
  baseOSExtensionsContainerImage: spec.baseOSExtensionsContainerImage ?? '',
  config: spec.config ?? null,
  extensions: spec.extensions ?? null,
  fips: spec.fips ?? false,
  kernelArguments: spec.kernelArguments ?? null,
  kernelType: spec.kernelType ?? '',
  osImageURL: spec.osImageURL ?? '',
});

/**
 * Returns the name `rendered-<pool>-<hash of the spec>`.
 * @throws YamlError for a spec with control characters
 */
export function renderedName(pool: string, spec: MachineConfigSpec): string {
  const hash = createHash('md5').update(SALT);
  const rest = printTo((piece) => hash.update(piece, 'utf8'), hashed(spec));
  return `rendered-${pool}-${hash.update(rest, 'utf8').digest('hex')}`;
}
