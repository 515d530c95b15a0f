import { IgnitionError } from '../ignition/index.ts';
import type { MachineConfigSpec } from '../kinds/machine-config.ts';
import { RenderError } from './error.ts';
import { parsedIgnition } from './parsed.ts';

const KERNEL_TYPES = ['', 'default', 'realtime', '64k-pages'];

/** The extensions of the operating system that can be installed. */
export const SUPPORTED_EXTENSIONS: ReadonlySet<string> = new Set([
  ...['two-node-ha', 'ipsec', 'usbguard', 'kerberos', 'kernel-devel', 'sandboxed-containers', 'sysstat'],
]);

const MAX_MODE = 0o777;

/** Validates the spec of a MachineConfig.
@throws RenderError, IgnitionError */
export function validateMachineConfigSpec({ kernelType = '', config, extensions }: MachineConfigSpec): void {
  if (!KERNEL_TYPES.includes(kernelType)) {
    throw new RenderError(`kernelType=${kernelType} is invalid`, {
      hint: 'set spec.kernelType to default, realtime or 64k-pages',
    });
  }
  if (config !== undefined && config !== null) validateConfig(config);
  const unknown = (extensions ?? []).filter((extension) => !SUPPORTED_EXTENSIONS.has(extension));
  if (unknown.length === 0) return;
  throw new RenderError(`invalid extensions found: [${unknown.join(' ')}]`, {
    hint: `remove the entries from spec.extensions, which supports ${[...SUPPORTED_EXTENSIONS].join(', ')}`,
  });
}

function validateConfig(config: unknown): void {
  const { config: parsed } = parsedIgnition(config);
  for (const { path = '', mode = 0 } of parsed.storage?.files ?? []) {
    if (mode <= MAX_MODE) continue;
    throw new RenderError(`invalid mode 0${mode.toString(8)} for ${path}, cannot exceed 0777`, {
      hint: `set storage.files[].mode of ${path} to a decimal number up to 511 (octal 0777)`,
    });
  }
}

/** Returns true if the error comes from a MachineConfig, and not from a defect of mcm. */
export const isRenderFailure = (error: unknown): error is Error =>
  error instanceof RenderError || error instanceof IgnitionError;
