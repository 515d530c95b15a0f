import type { FleetProvider } from '../fleet.ts';
import { wired } from '../wired.ts';

/** The random key of a driver, which differs from run to run. */
const THROW_AWAY_KEY = /ssh-rsa [\w+/=]+/g;

/** The requests of a driver to its cloud. */
export interface RecordedRequests {
  /** All requests of the machine's creation, as text. */
  readonly requests: string;
  readonly failed?: string;
}

/** Creates a machine with the provider spec, on a new emulated cloud. */
export async function requestsFor<Spec, Credentials>(
  provider: FleetProvider<Spec, Credentials>,
  spec: object,
): Promise<RecordedRequests> {
  const { stage, wire } = wired({ ...provider, machineClass: { ...provider.machineClass, providerSpec: { ...spec } } });
  const requests = (): string =>
    wire.sent
      .map(({ method, origin, path, body = '' }) => `${method} ${origin}${path} ${body}`)
      .join('\n')
      .replaceAll(THROW_AWAY_KEY, 'ssh-rsa <made up>');
  try {
    const { providerId } = await stage.create();
    if (provider.machineClass.provider === 'AWS') await stage.initialize({ providerID: providerId });
    return { requests: requests() };
  } catch (thrown) {
    return { requests: requests(), failed: String(thrown) };
  }
}
