import { reportRefusals } from '@mcm/kube/flags';
import { Command, InvalidArgumentError, Option } from 'commander';

const PROVIDERS = ['aws', 'azure', 'gcp'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface EmulatorFlags {
  readonly provider: Provider;
  readonly port: number;
  /** The folder of the data. If `dataDir` is undefined, the data is in memory. */
  readonly dataDir: string | undefined;
  readonly nodeKubeconfig: string | undefined;
  readonly operationMs: number;
  readonly visibleAfterMs: number;
  readonly pageSize: number | undefined;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

const whole =
  (most: number) =>
  (text: string): number => {
    if (/^\d+$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`The value must be a whole number from 0 to ${most}.`);
  };

const LONGEST_MS = 3_600_000;
const LARGEST_PAGE = 10_000;

const countOnPage = (text: string): number => {
  const size = whole(LARGEST_PAGE)(text);
  if (size > 0) return size;
  throw new InvalidArgumentError(`The page size must be a whole number from 1 to ${LARGEST_PAGE}.`);
};

/** Parses the command line. After `--help` or an error, commander prints the text and ends the process. */
export function parseFlags(argv: readonly string[]): EmulatorFlags {
  const command: Command = reportRefusals(new Command('cloud-emulator'))
    .description(
      'Emulates the API of a cloud on loopback, for tests of a machine controller. The VMs run simulated kubelets.',
    )
    .allowExcessArguments(false)
    .addOption(new Option('--provider <name>', 'the emulated cloud').choices(PROVIDERS))
    .option('--port <port>', 'port on 127.0.0.1; 0: any free port', whole(65_535), 0)
    .option('--data-dir <dir>', 'folder for the state of the cloud (default: in memory)')
    .option(
      '--node-kubeconfig <file>',
      'kubeconfig that all kubelets use; the kubelets then only verify their bootstrap tokens',
    )
    .option('--operation-ms <ms>', 'duration of each operation, boot and shutdown', whole(LONGEST_MS), 1_000)
    .option('--visible-after-ms <ms>', 'time until list responses contain a new VM', whole(LONGEST_MS), 0)
    .option(
      '--page-size <count>',
      'maximum number of VMs on one page of a list response (default: the page size of the cloud)',
      countOnPage,
    )
    .addOption(
      new Option('--log-level <level>', 'minimum level of log lines')
        .choices(['debug', 'info', 'warn', 'error'] as const)
        .default('info' as const),
    )
    .addHelpText(
      'after',
      '\nAdditional API: GET /_emulator/resources lists all billed resources. POST /_emulator/faults adds a fault:\n' +
        '{"on": "RunInstances"|"PUT virtualMachines"|"POST instances"|…, "times", "after", and one of "refuse": {"status", "code", "retryAfter"},\n' +
        '"perSecond", "lose": "before"|"after", "delayMs", "failOperation": {"code", "leave"}, "operationMs", "visibleAfterMs"}.\n' +
        '\nThe variable MCM_EMULATOR_ACCOUNT contains the accounts that may call, as a JSON object: {"accessKeyId", "secretAccessKey"} for aws, also "host", "webIdentity",\n' +
        '{"tenant", "clientId", "secret"} for azure, also "certificate", "assertion", "identities", {"email", "key"} for gcp, also "federation". Without an account, requests need no credentials. The emulator of Azure uses TLS with the CA <data-dir>/ca.crt.',
    );
  const { provider, dataDir, nodeKubeconfig, pageSize, ...raw } = command
    .parse([...argv], { from: 'user' })
    .opts<Omit<EmulatorFlags, 'provider' | 'dataDir' | 'nodeKubeconfig' | 'pageSize'> & Partial<EmulatorFlags>>();
  // The flag is not declared as required, because commander would report a missing flag before a misspelled flag.
  if (provider === undefined) return command.error(`--provider must be one of ${PROVIDERS.join(', ')}`);
  return { ...raw, provider, dataDir, nodeKubeconfig, pageSize };
}
