import type { FleetProvider } from '../fleet.ts';
import { wired } from '../wired.ts';

/** Matches a random key of the driver, which is different in each run. */
const THROW_AWAY_KEY = /ssh-rsa [\w+/=]+/g;

export interface RecordedRequests {
  readonly requests: string;
  readonly failed?: string;
}

/** Creates a machine with the provider spec on a new emulated cloud, and returns the requests. */
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
