import { encodeBase64DataUrl, IGNITION_VERSION } from '../ignition/index.ts';

/** What a machine's user data points with. */
export interface PointerOptions {
  /** Such as `https://config.example:22623`. */
  readonly server: string;
  readonly pool: string;
  /** The CA of the server, PEM. */
  readonly authority: string;
  /** What the machine shows: a bootstrap token, or the placeholder that the machine controller fills in. */
  readonly token: string;
}

/** The Ignition config of a machine's user data: nothing but where its pool's configuration is, whom to trust, what to show. */
export const pointerConfig = ({ server, pool, authority, token }: PointerOptions): object => ({
  ignition: {
    version: IGNITION_VERSION,
    config: {
      merge: [
        {
          source: `${server.replace(/\/$/, '')}/config/${pool}`,
          httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }],
        },
      ],
    },
    security: { tls: { certificateAuthorities: [{ source: encodeBase64DataUrl(authority) }] } },
  },
});
