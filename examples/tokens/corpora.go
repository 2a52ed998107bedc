package main

import (
	_ "embed" // the texts to measure with
	"fmt"
	"strings"

	"github.com/untrusted-context/envelope"
)

// corpus is a list of items of one kind of text.
type corpus struct {
	name  string
	items []envelope.Item
}

//go:embed testdata/english.txt
var english string

//go:embed testdata/code.txt
var code string

//go:embed testdata/demo.jsonl
var demo string

// corpora are English and code, which are documents and sources of this project as they once were,
// generated Chinese, and the project's demo.
func corpora() ([]corpus, error) {
	demoItems, err := readItems(strings.NewReader(demo))
	if err != nil {
		return nil, err
	}
	return []corpus{
		{"english", cut("english", english)},
		{"chinese", cut("chinese", chinese())},
		{"code", cut("code", code)},
		{"demo", demoItems},
	}, nil
}

// cut makes items of 200 to 2,000 bytes, up to forty of them.
func cut(name, text string) []envelope.Item {
	var items []envelope.Item
	for i := 0; i < 40 && len(text) > 2000; i++ {
		n := 200 + i*617%1801
		items = append(items, envelope.Item{
			Citation: envelope.MemoryCitation{
				Memory:  envelope.ArtifactRef{Family: "memory", ArtifactID: name, Revision: 7},
				EntryID: fmt.Sprintf("entry-%d", i), EntryVersionID: fmt.Sprintf("entry-%d-v2", i),
			},
			Content: strings.ToValidUTF8(text[:n], ""),
		})
		text = text[n:]
	}
	return items
}

// chinese is sentences about work on software, put together from their parts.
func chinese() string {
	who := strings.Fields("客户端 服务器 测试 文档 接口 数据库 发布分支 维护者 新版本 缓存 日志 用户")
	when := strings.Fields("每周四 合并之前 出错以后 升级的时候 第一次运行 月底 部署完成后 下一个版本里")
	what := strings.Fields("重新生成代码 检查所有字段 记录请求编号 通知支持团队 更新依赖 保留旧的格式 " +
		"拒绝无效的输入 回滚上一次改动 读取配置文件 按顺序执行迁移 说明原因和影响 关闭多余的连接")
	why := strings.Fields("，否则两边会不一致。 ，因为以前丢过数据。 ，不要手工修改。 ，这样更容易排查问题。 " +
		"，并在评审里说明。 ，然后再跑一遍契约测试。 ，超时默认三十秒。")
	state := uint32(1)
	pick := func(of []string) string {
		state = state*1664525 + 1013904223
		return of[int(state>>8)%len(of)]
	}
	var b strings.Builder
	for b.Len() < 64<<10 {
		b.WriteString(pick(when) + "，" + pick(who) + "要" + pick(what) + pick(why))
	}
	return b.String()
}
