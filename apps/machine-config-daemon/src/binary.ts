import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import {
  type BinaryDefinition,
  ConfigError,
  createInformer,
  type FlagValues,
  flagGroup,
  type Node,
  nodes,
  textFlag,
  undiciTransport,
} from '@mcm/kube';
import {
  azureSource,
  DEFAULT_POLICY,
  type DisruptionPolicy,
  disruptionPolicySchema,
  gceSource,
  machineConfigCrds,
  withUserPolicy,
} from '@mcm/machine-config';
import { parse } from 'yaml';
import { createDaemonUnit } from './daemon-unit.ts';
import { machineHost, programsIn } from './machine-host.ts';
import { RootDisk } from './root-disk.ts';

const flags = {
  ...flagGroup('Node', {
    'node-name': textFlag({
      placeholder: '<name>',
      default: '',
      help: 'name of the Node of this machine; default: the host name',
    }),
    'root-mount': textFlag({
      placeholder: '<directory>',
      default: '/',
      help: 'root directory of the machine; the daemon writes files, units and kernel arguments below this directory',
    }),
    'disruption-policy': textFlag({
      placeholder: '<file>',
      default: '',
      help: 'YAML file that defines the actions of the daemon for changed files, units and SSH keys; default: built-in policy',
    }),
    'reboot-command': textFlag({
      placeholder: '<command>',
      default: 'systemctl reboot',
      help: 'command that reboots the machine; with the value none, another component must reboot nodes in the state Rebooting',
    }),
    'boot-id-file': textFlag({
      placeholder: '<file>',
      default: '/proc/sys/kernel/random/boot_id',
      help: 'file whose content changes at each boot of the machine',
    }),
    interruptions: textFlag({
      placeholder: '<cloud>',
      default: 'none',
      oneOf: ['none', 'azure', 'gcp'],
      help: 'cloud of the VM. The daemon reads interruptions from the metadata service of the cloud, and writes the interruptions to a Node annotation',
    }),
    'metadata-endpoint': textFlag({
      placeholder: '<url>',
      default: 'http://169.254.169.254',
      help: 'address of the cloud metadata service for --interruptions',
    }),
  }),
} as const;

/** The `machine-config-daemon` binary, which runs on each node. */
export const machineConfigDaemon: BinaryDefinition<typeof flags> = {
  name: 'machine-config-daemon',
  version: '0.1.0',
  description:
    'Applies files, units and kernel arguments to the machine of the daemon, and reports the progress on the Node.',
  metricsPrefix: 'mcd_',
  defaults: { port: 8798, concurrency: 1, controllers: [], leaderElect: false },
  crds: machineConfigCrds.filter(({ spec }) => spec.names.kind === 'MachineConfig'),
  flags,
  check: (given) =>
    given['root-mount'].startsWith('/')
      ? []
      : [`--root-mount must be an absolute path, not ${JSON.stringify(given['root-mount'])}`],
  units: async ({ control, target = control, targetRecorder, recorder, runtime, flags: given }) => {
    const nodeName = given['node-name'] === '' ? hostname() : given['node-name'];
    const root = given['root-mount'];
    const informer = createInformer<Node>(target, nodes, { ...runtime, fieldSelector: `metadata.name=${nodeName}` });
    const host = machineHost({
      root,
      disk: new RootDisk(root),
      run: programsIn(root),
      bootIdFile: given['boot-id-file'],
      readFile: (path) => readFile(path, 'utf8'),
      reboot: given['reboot-command'] === 'none' ? [] : given['reboot-command'].split(/\s+/),
    });
    const policy = await readPolicy(given['disruption-policy']);
    return [
      createDaemonUnit({
        nodeName,
        root,
        host,
        policy,
        informer,
        runtime,
        nodeClient: target,
        configClient: control,
        recorder: targetRecorder ?? recorder,
        notices: noticesOf(given, nodeName),
      }),
    ];
  },
};

/**
 * Returns the source of notices that `--interruptions` selects. On Azure, a notice contains the name of the VM, which
 * equals the name of the Node.
 */
function noticesOf(given: Pick<FlagValues<typeof flags>, 'interruptions' | 'metadata-endpoint'>, nodeName: string) {
  const { interruptions } = given;
  if (interruptions === 'none') return undefined;
  const source = interruptions === 'azure' ? azureSource(nodeName) : gceSource;
  return { source, metadata: undiciTransport({ server: given['metadata-endpoint'], connections: 2 }) };
}

/**
 * Reads the disruption policy of the node from a file.
 * @throws ConfigError with the file, the field and its allowed values
 */
export async function readPolicy(file: string): Promise<DisruptionPolicy> {
  if (file === '') return DEFAULT_POLICY;
  const say = (problem: string, cause?: unknown) =>
    new ConfigError(`--disruption-policy ${file}: ${problem}`, cause === undefined ? undefined : { cause });
  let raw: unknown;
  try {
    raw = parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw say(error instanceof Error ? error.message : String(error), error);
  }
  const parsed = disruptionPolicySchema.safeParse(raw);
  if (parsed.success) return withUserPolicy(parsed.data);
  throw say(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}
