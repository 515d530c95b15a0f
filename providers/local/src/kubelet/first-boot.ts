import {
  ENCAPSULATED_PATH,
  IGNITION_VERSION,
  type IgnitionConfig,
  MACHINE_CONFIG_API_VERSION,
  type MachineConfig,
  MemoryDisk,
  nextCommandLine,
  readIgnition,
  wantedDisk,
} from '@mcm/machine-config';
import type { ApiAddress, ApiTransport } from './node/api-address.ts';
import type { StoredMachine } from './node/memory.ts';
import type { ConfigPointer } from './node/pointer.ts';

const ACCEPT = `application/vnd.coreos.ignition+json;version=${IGNITION_VERSION}`;

/** @throws the error of the server. */
export async function fetchFirstConfig(
  { server, path, ca, headers }: ConfigPointer,
  connect: (address: ApiAddress) => ApiTransport,
  signal: AbortSignal,
): Promise<IgnitionConfig> {
  const transport = connect({ server, ca });
  try {
    const answer = await transport({ method: 'GET', path, headers: { ...headers, accept: ACCEPT }, signal });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${server}${path} answers ${answer.status}: ${text.trim()}`);
    return readIgnition(JSON.parse(text));
  } finally {
    await transport.close?.();
  }
}

const machineConfigOf = (config: IgnitionConfig): MachineConfig => ({
  apiVersion: MACHINE_CONFIG_API_VERSION,
  kind: 'MachineConfig',
  spec: { config },
  metadata: { name: 'first-boot', uid: '', resourceVersion: '', creationTimestamp: '' },
});

/**
 * Returns the machine after its first boot, when all files exist. If the config contains kernel arguments, the machine
 * has rebooted once.
 */
export async function firstMachine(image: StoredMachine, config: IgnitionConfig): Promise<StoredMachine> {
  const disk = new MemoryDisk(image.disk);
  const { entries, appended } = wantedDisk(machineConfigOf(config));
  for (const [path, entry] of entries) await disk.put(path, entry);
  for (const [path, { base, append, ...rest }] of appended) {
    const found = await disk.read(path);
    const before = base ?? (found?.kind === 'file' ? found.content : new Uint8Array());
    await disk.put(path, { ...rest, content: Buffer.concat([before, append]) });
  }
  const encapsulated = entries.get(ENCAPSULATED_PATH);
  const text = encapsulated?.kind === 'file' ? Buffer.from(encapsulated.content).toString('utf8') : '{}';
  const { spec = {} } = JSON.parse(text) as Pick<MachineConfig, 'spec'>;
  const wanted = spec.kernelArguments ?? [];
  if (wanted.length === 0) return { ...image, disk: disk.image() };
  const commandLine = nextCommandLine(image.commandLine, [], wanted);
  return { disk: disk.image(), boots: image.boots + 1, commandLine };
}
