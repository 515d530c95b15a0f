/** The hosts and audiences of an Azure cloud. */
export interface AzureCloud {
  readonly name: string;
  readonly management: string;
  readonly login: string;
  /** Audiences of the tokens that its Resource Manager accepts. */
  readonly audiences: readonly string[];
}

/** The clouds other than the public one, as Microsoft documents them. */
export const SOVEREIGN: readonly AzureCloud[] = [
  {
    name: 'AzureChina',
    management: 'management.chinacloudapi.cn',
    login: 'login.chinacloudapi.cn',
    audiences: ['https://management.core.chinacloudapi.cn', 'https://management.chinacloudapi.cn'],
  },
  {
    name: 'AzureGovernment',
    management: 'management.usgovcloudapi.net',
    login: 'login.microsoftonline.us',
    audiences: ['https://management.core.usgovcloudapi.net', 'https://management.usgovcloudapi.net'],
  },
];

/** All hosts of these clouds. */
export const SOVEREIGN_HOSTS: readonly string[] = SOVEREIGN.flatMap(({ management, login }) => [management, login]);

/**
 * Whether a cloud has the audience of a scope or resource. Clients write it with and without a slash at its end, and Microsoft's
 * libraries add scopes of their own.
 */
export const hasAudience = ({ audiences }: AzureCloud, text: string): boolean => {
  const [first = ''] = text.split(' ');
  return audiences.includes(first.replace(/\/\.default$/, '').replace(/\/$/, ''));
};
