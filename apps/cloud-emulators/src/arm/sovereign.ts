export interface AzureCloud {
  readonly name: string;
  readonly management: string;
  readonly login: string;
  readonly audiences: readonly string[];
}

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

export const SOVEREIGN_HOSTS: readonly string[] = SOVEREIGN.flatMap(({ management, login }) => [management, login]);

/**
 * Returns true if the cloud accepts an audience. Clients may add a slash at the end, and the libraries of Microsoft
 * append a scope.
 */
export const hasAudience = ({ audiences }: AzureCloud, text: string): boolean => {
  const [first = ''] = text.split(' ');
  return audiences.includes(first.replace(/\/\.default$/, '').replace(/\/$/, ''));
};
