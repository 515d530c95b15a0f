import { encodeBase64DataUrl, IGNITION_VERSION } from '../ignition/index.ts';

/** The options of the pointer config: a small Ignition config in the user data of a machine. */
export interface PointerOptions {
  /** URL of the config server, such as `https://config.example:22623`. */
  readonly server: string;
  readonly pool: string;
  readonly authority: string;
  readonly token: string;
}

/**
 * Returns the pointer config for the user data of a machine. The pointer config contains only the URL of the pool's
 * config, the CA and the token.
 */
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
