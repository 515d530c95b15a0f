const TLS_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

const CIPHERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(TLS_13.map((name) => [name, name])),
  'ECDHE-ECDSA-AES128-GCM-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384': 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305': 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-RSA-CHACHA20-POLY1305': 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-RSA-AES128-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'AES128-GCM-SHA256': 'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'AES256-GCM-SHA384': 'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'AES128-SHA256': 'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-ECDSA-AES128-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'ECDHE-RSA-AES128-SHA': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'ECDHE-ECDSA-AES256-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'ECDHE-RSA-AES256-SHA': 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'AES128-SHA': 'TLS_RSA_WITH_AES_128_CBC_SHA',
  'AES256-SHA': 'TLS_RSA_WITH_AES_256_CBC_SHA',
  'DES-CBC3-SHA': 'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
};

const INTERMEDIATE = [
  ...TLS_13,
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
];

const OLD = [
  ...INTERMEDIATE,
  ...['ECDHE-ECDSA-AES128-SHA256', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-ECDSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA'],
  ...['ECDHE-ECDSA-AES256-SHA', 'ECDHE-RSA-AES256-SHA', 'AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'AES128-SHA256'],
  ...['AES128-SHA', 'AES256-SHA', 'DES-CBC3-SHA'],
];

/** A TLS profile, as in the APIServer object of OpenShift. */
export interface TlsProfile {
  readonly type?: string;
  readonly custom?: { readonly ciphers?: readonly string[]; readonly minTLSVersion?: string } | null;
}

/** TLS settings of a kubelet. */
export interface TlsSettings {
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
}

const settings = (tlsMinVersion: string, ciphers: readonly string[]): TlsSettings => ({
  tlsMinVersion,
  tlsCipherSuites: [...new Set(ciphers.flatMap((name) => CIPHERS[name] ?? []))],
});

/** Returns the settings of a TLS profile; the profile Intermediate is the default. */
export function tlsSettings(profile: TlsProfile | null | undefined): TlsSettings {
  switch (profile?.type) {
    case 'Old':
      return settings('VersionTLS10', OLD);
    case 'Modern':
      return settings('VersionTLS13', TLS_13);
    case 'Custom':
      if (profile.custom) return settings(profile.custom.minTLSVersion ?? '', profile.custom.ciphers ?? []);
      return settings('VersionTLS12', INTERMEDIATE);
    default:
      return settings('VersionTLS12', INTERMEDIATE);
  }
}
