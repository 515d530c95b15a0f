import type {
  DescribeInstancesCommandInput,
  EC2Client,
  Image,
  Instance,
  RunInstancesCommandInput,
  RunInstancesCommandOutput,
} from '@aws-sdk/client-ec2';
import { type AccountRates, SharedLookup } from '@mcm/core/driver';
import type { Clock, Random } from '@mcm/kube';
import type { AwsCredentials } from '../spec/schemas.ts';
import { Attempts } from './attempts.ts';
import { checkEnvironment } from './check-environment.ts';
import { type Keys, keySourceOf } from './credentials.ts';
import { type Environment, maxAttemptsOf } from './environment.ts';
import { ownKeys } from './own-keys.ts';
import { type Reach, reachOf } from './reach.ts';
import { createRequestHandler, type RequestHandlerOptions } from './request-handler.ts';
import type { AwsSettings } from './settings.ts';
import { webIdentity } from './web-identity.ts';

export type { Instance } from '@aws-sdk/client-ec2';

export interface Ec2Options extends RequestHandlerOptions {
  readonly random: Random;
  readonly environment: Environment;
  readonly settings?: AwsSettings;
  readonly isFinal: (code: string, action: string) => boolean;
  readonly userAgent: string;
  readonly rates?: AccountRates | undefined;
}

/**
 * The time for which the driver caches an image. A long time is safe, because images rarely change, and EC2 refuses a
 * launch from a deleted image.
 */
const IMAGE_KEPT_MS = 3_600_000;

/** The EC2 client and the clients of other AWS services share these settings. */
export interface Ec2Session {
  readonly region: string;
  readonly keys: Keys | (() => Promise<Keys>);
  readonly requestHandler: ReturnType<typeof createRequestHandler>;
  readonly userAgent: string;
  readonly reach: Reach;
}

type Ec2Sdk = Awaited<ReturnType<typeof loadEc2>>;

/** With named imports, the bundler omits the 700 commands of the SDK that the driver does not use. */
async function loadEc2() {
  const { EC2Client, AssignIpv6AddressesCommand, DescribeImagesCommand } = await import('@aws-sdk/client-ec2');
  const { DescribeInstancesCommand, GetConsoleOutputCommand } = await import('@aws-sdk/client-ec2');
  const { ModifyNetworkInterfaceAttributeCommand } = await import('@aws-sdk/client-ec2');
  const { RunInstancesCommand, TerminateInstancesCommand } = await import('@aws-sdk/client-ec2');
  const { StartInstancesCommand, StopInstancesCommand } = await import('@aws-sdk/client-ec2');
  const { CreateTagsCommand, DeleteTagsCommand } = await import('@aws-sdk/client-ec2');
  return {
    EC2Client,
    AssignIpv6AddressesCommand,
    CreateTagsCommand,
    DeleteTagsCommand,
    DescribeImagesCommand,
    DescribeInstancesCommand,
    GetConsoleOutputCommand,
    ModifyNetworkInterfaceAttributeCommand,
    RunInstancesCommand,
    StartInstancesCommand,
    StopInstancesCommand,
    TerminateInstancesCommand,
  };
}

/** The methods throw the errors of `Attempts.send`. */
export class Ec2 {
  readonly #client: EC2Client;
  readonly #sdk: Ec2Sdk;
  readonly #attempts: Attempts;
  readonly #clock: Clock;
  readonly #images = new Map<string, { readonly image: Image; readonly until: number }>();
  readonly #imagesAsked: SharedLookup<Image>;
  readonly #lookups = new Map<string, SharedLookup<Instance>>();

  readonly session: Ec2Session;

  constructor(sdk: Ec2Sdk, client: EC2Client, attempts: Attempts, clock: Clock, session: Ec2Session) {
    this.session = session;
    this.#sdk = sdk;
    this.#client = client;
    this.#attempts = attempts;
    this.#clock = clock;
    // Each request contains only one image ID, because one unknown image would fail the whole request.
    const ask = (ids: readonly string[], signal: AbortSignal) => this.#describeImages(ids, signal);
    this.#imagesAsked = new SharedLookup(ask, ({ ImageId }) => ImageId, clock, 1);
  }

  async image(id: string, signal: AbortSignal): Promise<Image | undefined> {
    const now = this.#clock.now().getTime();
    const known = this.#images.get(id);
    if (known && known.until > now) return known.image;
    const image = (await this.#imagesAsked.find(id, signal))[0];
    for (const [old, { until }] of this.#images) if (until <= now) this.#images.delete(old);
    if (image) this.#images.set(id, { image, until: now + IMAGE_KEPT_MS });
    return image;
  }

  async #describeImages(ids: readonly string[], signal: AbortSignal): Promise<readonly Image[]> {
    const command = new this.#sdk.DescribeImagesCommand({ ImageIds: [...ids] });
    const send = () => this.#client.send(command, { abortSignal: signal });
    return (await this.#attempts.send('DescribeImages', true, signal, send)).Images ?? [];
  }

  sharedLookup(
    kind: string,
    ask: (values: readonly string[], signal: AbortSignal) => Promise<readonly Instance[]>,
    answersTo: (instance: Instance) => string | undefined,
  ): SharedLookup<Instance> {
    const known = this.#lookups.get(kind);
    if (known) return known;
    const made = new SharedLookup(ask, answersTo, this.#clock);
    this.#lookups.set(kind, made);
    return made;
  }

  /** A repeated call is safe, because the request contains a client token. */
  async run(input: RunInstancesCommandInput, signal: AbortSignal): Promise<RunInstancesCommandOutput> {
    const command = new this.#sdk.RunInstancesCommand(input);
    return this.#attempts.send('RunInstances', true, signal, () => this.#client.send(command, { abortSignal: signal }));
  }

  /** Lists instances. If EC2 returns a page token twice, the listing ends, as in the original. */
  async instances(input: DescribeInstancesCommandInput, signal: AbortSignal): Promise<readonly Instance[]> {
    const found: Instance[] = [];
    let token: string | undefined;
    for (;;) {
      const command = new this.#sdk.DescribeInstancesCommand(
        token === undefined ? input : { ...input, NextToken: token },
      );
      const send = () => this.#client.send(command, { abortSignal: signal });
      const page = await this.#attempts.send('DescribeInstances', true, signal, send);
      for (const { Instances = [] } of page.Reservations ?? []) found.push(...Instances);
      if (!page.NextToken || page.NextToken === token) return found;
      token = page.NextToken;
    }
  }

  async terminate(id: string, signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.TerminateInstancesCommand({ InstanceIds: [id], DryRun: false });
    await this.#attempts.send('TerminateInstances', true, signal, () =>
      this.#client.send(command, { abortSignal: signal }),
    );
  }

  /** @param hibernate True if EC2 must store the memory of the instance */
  async stop(id: string, hibernate: boolean, signal: AbortSignal): Promise<void> {
    const more = hibernate ? { Hibernate: true } : {};
    const command = new this.#sdk.StopInstancesCommand({ InstanceIds: [id], ...more });
    await this.#attempts.send('StopInstances', true, signal, () => this.#client.send(command, { abortSignal: signal }));
  }

  async start(id: string, signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.StartInstancesCommand({ InstanceIds: [id] });
    await this.#attempts.send('StartInstances', true, signal, () =>
      this.#client.send(command, { abortSignal: signal }),
    );
  }

  async createTags(id: string, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    const command = new this.#sdk.CreateTagsCommand({ Resources: [id], Tags });
    await this.#attempts.send('CreateTags', true, signal, () => this.#client.send(command, { abortSignal: signal }));
  }

  /** Removes tags of an instance. The request contains only keys, so EC2 removes each tag with any value. */
  async deleteTags(id: string, keys: readonly string[], signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.DeleteTagsCommand({ Resources: [id], Tags: keys.map((Key) => ({ Key })) });
    await this.#attempts.send('DeleteTags', true, signal, () => this.#client.send(command, { abortSignal: signal }));
  }

  /**
   * Returns the newest 64 KiB of the console output. With `latest`, EC2 returns the current output, but some instance
   * types do not support it.
   */
  async console(id: string, latest: boolean, signal: AbortSignal): Promise<string> {
    const command = new this.#sdk.GetConsoleOutputCommand({ InstanceId: id, Latest: latest ? true : undefined });
    const send = () => this.#client.send(command, { abortSignal: signal });
    const { Output = '' } = await this.#attempts.send('GetConsoleOutput', true, signal, send);
    return Buffer.from(Output, 'base64').toString('utf8');
  }

  async disableSourceDestCheck(networkInterfaceId: string | undefined, signal: AbortSignal): Promise<void> {
    requireInterface('ModifyNetworkInterfaceAttribute', networkInterfaceId);
    const command = new this.#sdk.ModifyNetworkInterfaceAttributeCommand({
      NetworkInterfaceId: networkInterfaceId,
      SourceDestCheck: { Value: false },
    });
    await this.#attempts.send('ModifyNetworkInterfaceAttribute', true, signal, () =>
      this.#client.send(command, { abortSignal: signal }),
    );
  }

  /**
   * Assigns IPv6 prefixes to a network interface. A call without a response is not repeated, because a second call
   * would assign more prefixes. After a lost response, the caller must read the interface again.
   */
  async assignPrefixes(networkInterfaceId: string | undefined, count: number, signal: AbortSignal): Promise<void> {
    requireInterface('AssignIpv6Addresses', networkInterfaceId);
    const command = new this.#sdk.AssignIpv6AddressesCommand({
      NetworkInterfaceId: networkInterfaceId,
      Ipv6PrefixCount: count,
    });
    await this.#attempts.send('AssignIpv6Addresses', false, signal, () =>
      this.#client.send(command, { abortSignal: signal }),
    );
  }
}

/**
 * Refuses a network interface without an ID.
 * @throws Error
 */
function requireInterface(action: string, id: string | undefined): void {
  if (id === undefined) throw new Error(`${action}: EC2 returned a network interface without an ID`);
}

/** The maximum number of cached clients. The least recently used client is removed first. */
const KEPT = 64;

/**
 * Returns a function that caches clients, because a new client has no open connections, no cached keys and no learned
 * rates.
 */
export function ec2Clients(options: Ec2Options): (region: string, credentials: AwsCredentials) => Promise<Ec2> {
  const clients = new Map<string, Promise<Ec2>>();
  const requestHandler = createRequestHandler(options);
  return (region, credentials) => {
    const source = keySourceOf(credentials);
    const key = JSON.stringify([region, source]);
    const known = clients.get(key);
    clients.delete(key);
    // Removes the cached keys, because keys can become invalid before their expiry.
    const forget = (): void => {
      if (clients.get(key) === client) clients.delete(key);
    };
    const client =
      known ?? connect(options, region, credentials, requestHandler, source.from === 'secret' ? undefined : forget);
    clients.set(key, client);
    client.catch(forget);
    for (const [oldest] of clients) if (clients.size > KEPT) clients.delete(oldest);
    return client;
  };
}

/** Loads the SDK before the first call. Loading takes a third of a second, and no reconcile should wait for it. */
export async function loadSdk(): Promise<void> {
  await loadEc2();
  await import('@aws-sdk/client-sts');
}

async function connect(
  options: Ec2Options,
  region: string,
  credentials: AwsCredentials,
  requestHandler: ReturnType<typeof createRequestHandler>,
  onKeysRefused: (() => void) | undefined,
): Promise<Ec2> {
  const { clock, random, environment, settings = {}, isFinal, userAgent } = options;
  await checkEnvironment(environment);
  const sdk = await loadEc2();
  const source = keySourceOf(credentials);
  const { readFile } = environment;
  const reach = reachOf(settings, settings.stsEndpoint);
  const login = { region, clock, connect: options.connect, environment, requestHandler, reach };
  const keys =
    source.from === 'secret'
      ? source.keys
      : source.from === 'web identity'
        ? webIdentity({ ...source, ...login, readFile })
        : ownKeys(login);
  const client = new sdk.EC2Client({
    region,
    requestHandler,
    ...reachOf(settings, settings.ec2Endpoint),
    // The SDK makes only one attempt, because the driver itself counts and repeats attempts.
    maxAttempts: 1,
    retryMode: 'standard',
    customUserAgent: userAgent,
    credentials: keys,
  });
  const maxAttempts = maxAttemptsOf(environment);
  const rates = options.rates?.of(['ec2', region, source]);
  const attempts = new Attempts({ clock, random, isFinal, maxAttempts, onKeysRefused, rates });
  const session = { region, keys, requestHandler, userAgent, reach: reachOf(settings, settings.sqsEndpoint) };
  return new Ec2(sdk, client, attempts, clock, session);
}
