import { reportRefusals } from '@mcm/kube/flags';
import { Command, InvalidArgumentError, Option } from 'commander';

const PROVIDERS = ['aws', 'azure', 'gcp'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** The command line of `cloud-emulator`, checked. */
export interface EmulatorFlags {
  readonly provider: Provider;
  readonly port: number;
  /** Undefined: in memory. */
  readonly dataDir: string | undefined;
  readonly nodeKubeconfig: string | undefined;
  readonly operationMs: number;
  readonly visibleAfterMs: number;
  /** VMs on a page of a listing; undefined: as many as the cloud itself tells. */
  readonly pageSize: number | undefined;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

const whole =
  (most: number) =>
  (text: string): number => {
    if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`It takes a whole number from 0 to ${most}.`);
  };

const LONGEST_MS = 3_600_000;
const LARGEST_PAGE = 10_000;

const countOnPage = (text: string): number => {
  const size = whole(LARGEST_PAGE)(text);
  if (size > 0) return size;
  throw new InvalidArgumentError(`It takes a whole number from 1 to ${LARGEST_PAGE}.`);
};

/** Parses the command line; prints help or the mistake and ends the process where commander does. */
export function parseFlags(argv: readonly string[]): EmulatorFlags {
  const command: Command = reportRefusals(new Command('cloud-emulator'))
    .description(
      'A loopback server that speaks enough of a cloud to try its machine controller against. Its VMs boot hollow kubelets.',
    )
    .allowExcessArguments(false)
    .addOption(new Option('--provider <name>', 'the cloud that is played').choices(PROVIDERS))
    .option('--port <port>', 'port on 127.0.0.1; 0 takes a free one', whole(65_535), 0)
    .option('--data-dir <dir>', 'folder that keeps what is in the cloud (default: in memory)')
    .option('--node-kubeconfig <file>', 'ready credentials for all kubelets; bootstrap tokens are only proven then')
    .option('--operation-ms <ms>', 'how long operations, boots and shutdowns take', whole(LONGEST_MS), 1_000)
    .option('--visible-after-ms <ms>', 'new VMs show in listings so much later', whole(LONGEST_MS), 0)
    .option(
      '--page-size <count>',
      'VMs on a page of a listing (default: as many as the cloud itself tells)',
      countOnPage,
    )
    .addOption(
      new Option('--log-level <level>', 'least level of log lines')
        .choices(['debug', 'info', 'warn', 'error'] as const)
        .default('info' as const),
    )
    .addHelpText(
      'after',
      '\nBeside the API of the cloud: GET /_emulator/resources tells everything that would be billed, POST /_emulator/faults orders a fault:\n' +
        '{"on": "RunInstances"|"PUT virtualMachines"|"POST instances"|…, "times", "after", and one of "refuse": {"status", "code", "retryAfter"},\n' +
        '"perSecond", "lose": "before"|"after", "delayMs", "failOperation": {"code", "leave"}, "operationMs", "visibleAfterMs"}.\n' +
        '\nWho may call is read from MCM_EMULATOR_ACCOUNT, a JSON object: {"accessKeyId", "secretAccessKey"} for aws, also "host", "webIdentity",\n' +
        '{"tenant", "clientId", "secret"} for azure, also "certificate", "assertion", "identities", {"email", "key"} for gcp, also "federation"; without it nobody is asked who he is. azure speaks TLS; its CA is <data-dir>/ca.crt.',
    );
  const { provider, dataDir, nodeKubeconfig, pageSize, ...raw } = command
    .parse([...argv], { from: 'user' })
    .opts<Omit<EmulatorFlags, 'provider' | 'dataDir' | 'nodeKubeconfig' | 'pageSize'> & Partial<EmulatorFlags>>();
  // Not required in the parser's sense: that would hide a flag that is misspelt.
  if (provider === undefined) return command.error(`--provider is missing: give one of ${PROVIDERS.join(', ')}`);
  return { ...raw, provider, dataDir, nodeKubeconfig, pageSize };
}
