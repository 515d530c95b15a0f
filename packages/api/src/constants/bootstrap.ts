/** Placeholders in user data. If the user data contains only the URL-escaped form, mcm replaces the escaped form. */
export const UserDataPlaceholders = {
  BootstrapToken: '<<BOOTSTRAP_TOKEN>>',
  MachineName: '<<MACHINE_NAME>>',
  BootstrapTokenEscaped: '%3C%3CBOOTSTRAP_TOKEN%3E%3E',
  MachineNameEscaped: '%3C%3CMACHINE_NAME%3E%3E',
} as const;

/** Key of the user data in the Secret of a MachineClass. */
export const USER_DATA_KEY = 'userData';

/** Namespace, name prefix and type of bootstrap token Secrets in the target cluster. */
export const BootstrapTokens = {
  Namespace: 'kube-system',
  NamePrefix: 'bootstrap-token-',
  SecretType: 'bootstrap.kubernetes.io/token',
  Keys: {
    Description: 'description',
    TokenId: 'token-id',
    TokenSecret: 'token-secret',
    Expiration: 'expiration',
    UsageAuthentication: 'usage-bootstrap-authentication',
    UsageSigning: 'usage-bootstrap-signing',
    AuthExtraGroups: 'auth-extra-groups',
  },
} as const;
